"""A storm of findings, and what SIGKILL does to the memory of it."""
