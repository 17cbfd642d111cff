"""Stragglers, slowdowns and hangs of training jobs; the only package that imports numpy.

`columns` holds what goes in, `detector.Detector` judges it step by step (one node, a fleet),
`retrospective` a whole table at once, `hangs` the lack of any progress.
"""
