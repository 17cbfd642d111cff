"""Text into values: total functions without I/O."""
