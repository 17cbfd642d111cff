"""Captures and recordings: what a host shows, written so that it plays the part of that host again.

Its parts are imported one by one: the daemon needs those that write, not those that read.
"""
