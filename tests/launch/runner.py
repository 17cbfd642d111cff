"""What `run` is but for checking and watching: runs its arguments and ends as they do."""

from __future__ import annotations

import os
import sys

from neuron_observer.clock import SystemClock
from neuron_observer.launch.foreground import signals_caught, start

if __name__ == "__main__":
    if "--own-group" in sys.argv:  # as a shell with job control gives to each of its jobs
        sys.argv.remove("--own-group")
        os.setpgrp()
    with signals_caught() as signals:
        ended = start(sys.argv[1:], os.environ, signals, SystemClock()).wait()
    sys.exit(ended.code)
