"""What nobody foresaw: its traceback for the report, and an exit code that is no verdict."""

from __future__ import annotations

import sys
from traceback import format_exc

from neuron_observer.errors import ExitCode

_SAID = (
    "neuron-observer: this is a fault of neuron-observer itself and says nothing of the host;"
    " please report it with the lines above"
)


def crashed() -> int:
    """Tell of the exception at hand; 70, where Python's 1 is a verdict of `check`."""
    if sys.stderr:
        sys.stderr.write(f"{format_exc()}{_SAID}\n")
    return ExitCode.SOFTWARE
