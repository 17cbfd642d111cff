"""The screen. It reads a `Feed` and nothing else of us.

What is shown is made by pure functions, one module a panel: a view of one frame → lines. `top
--once` prints those lines, the widgets of the Textual application paint the same ones.
"""
