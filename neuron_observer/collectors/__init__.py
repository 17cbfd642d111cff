"""From sources to batches of readings; one module a subject."""
