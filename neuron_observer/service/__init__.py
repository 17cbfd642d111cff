"""The units that systemd runs us by: their texts, who could change what they run, installing."""
