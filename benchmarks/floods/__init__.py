"""What a flood of clients does to the daemon: `python -m benchmarks.floods`."""
