"""A bundle: all that a node knows of its faults, in one archive that somebody else can read.

Here stand its form, what is taken out of it, and how it is read again; `bundling` gathers it.
"""
