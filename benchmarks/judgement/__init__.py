"""Faults and noise of simulated nodes through the real reader, loop and rules."""
