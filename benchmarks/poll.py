"""G1: a whole poll cycle against C that preads and parses the same files, 5 % of them changed.

    python -m benchmarks.poll [--rounds N] [--passes N]

The cycle is what a tick of the program does for its fast and normal lanes, on a host read by
kept descriptors: `HostReader.poll`, which reads, compares, parses what changed, joins the batches
into a snapshot and derives rates and utilisation. The files are all those that these lanes read
of a tree of 38 Trainium2 devices (driver 2.30.2): 13,528, as many as a trn2.48xlarge shows
(driver 2.24.7: 13,504; the program leaves 5,632 `present` unread and reads peaks rarely). Floor
and program take turns in two processes, so that each holds its own descriptors.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.hosts import Interfaces, bind, enter_namespaces, mount, write_tree
from benchmarks.measuring import TREES, Goal, Pair, compile_floor, judge, machine, write_list
from neuron_observer.clock import SystemClock
from neuron_observer.observer import HostReader, Options
from neuron_observer.sources.hostfs import DirectoryFs

if TYPE_CHECKING:
    from collections.abc import Callable

LANES = ("fast", "normal")
DEVICES = 38
LISTING = TREES / "trn2.48xlarge-2.30.2-busy.tsv.gz"
CHANGED = 0.05
