"""A simulated host: the driver's tree, moved by jobs that compute and by faults on a timeline.

Written from the driver's side, out of its tables and formats, and never out of our catalogue or
parsers: else the reader and what it is tested against would agree by construction.
"""
