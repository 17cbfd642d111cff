"""Text → value: total functions without I/O; what is no value becomes a `Missing`."""
