"""The daemon that is flooded: the parts of the verb `daemon`, and a clock on its frames.

    python -m benchmarks.floods.target HOST_ROOT SOCKET [WEB_CONFIG]

Prints its port. For every line on its input it prints the seconds between frames since the last one
and its resident memory, as JSON; it ends when its input does.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
from pathlib import Path
from threading import Thread

from neuron_observer.cli.hosts import make_judge
from neuron_observer.cli.roots import enough_descriptors
from neuron_observer.clock import SystemClock
from neuron_observer.config.web_config import load
from neuron_observer.daemon import Daemon
from neuron_observer.daemon.listening import listening
from neuron_observer.exporters.listener import bound
from neuron_observer.exporters.web import Web
from neuron_observer.loop import Loop
from neuron_observer.observer import HostReader, Options
from neuron_observer.sources.hostfs import DirectoryFs


def resident() -> int:
    """Bytes of memory."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def main(root: str, path: str, web_config: str = "") -> None:
    """Serve until the input ends."""
    enough_descriptors()
    clock, frames = SystemClock(), [0.0]
    reader = HostReader(DirectoryFs(root), clock, Options(keep=True, wait_for_firmware=False))
    judge = make_judge(one_shot=False)
    loop = Loop(reader, judge=judge, explain=judge.explain)
    loop.subscribe(lambda _: frames.append(clock.monotonic()))
    web = Web(lambda: load(web_config), clock) if web_config else None
    with listening(["127.0.0.1:0"], path) as listeners:
        daemon = Daemon(loop, listeners, clock, detail="full", web=web)
        thread = Thread(target=daemon.run)
        thread.start()
        print(bound(listeners[0]).port, flush=True)
        for _ in sys.stdin:
            seen = frames[:]
            del frames[: len(seen) - 1]
            gaps = [after - before for before, after in itertools.pairwise(seen)]
            print(json.dumps({"gaps": gaps, "resident": resident()}), flush=True)
        daemon.stop()
        thread.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
