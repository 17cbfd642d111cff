"""The short form of the benchmark, with the real daemon and a device that hangs in the kernel.

Where it can be had: root and /dev/fuse. It runs as a process of its own, because a reader of such a
device cannot be killed before its server is, and because it leaves the machine's mounts.
"""

from __future__ import annotations

import subprocess
import sys

from benchmarks.sick import possible

if possible():

    def test_a_device_that_hangs_hinders_nobody() -> None:
        """Told in time, others seen in time, frames without a gap, a stop within 2 s (E06)."""
        command = [sys.executable, "-m", "benchmarks.resilience", "--short", "--changes", "3"]
        run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert run.returncode == 0, run.stdout + run.stderr
        assert "MISSED" not in run.stdout
        assert "stop while registers hang" in run.stdout
        assert "1 left; then: a call before this one still hangs" in run.stdout
