"""Starting a job and watching it: what `run` is made of."""
