"""Checks of rules and of hosts: timelines in bytes, and what stands on them."""
