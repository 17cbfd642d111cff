"""Who uses the devices: what kind of job, which ranks, which cores, and what a fault means to it.

Everything here is pure: `collectors.jobs` reads, this says what it means.
"""
