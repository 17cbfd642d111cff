"""The servers that `benchmarks.scrape` asks: ours in two forms, and prometheus_client's own.

Each is a child process; it prints its port and ends when its standard input does.
"""

from __future__ import annotations

import random
import sys
from itertools import cycle
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from benchmarks.hosts import write_tree
from benchmarks.measuring import TREES
from neuron_observer.catalogue import METRICS, Kind
from neuron_observer.clock import ManualClock, SystemClock
from neuron_observer.daemon import Daemon
from neuron_observer.exporters.exposition import Format
from neuron_observer.exporters.http import Server
from neuron_observer.exporters.listener import Address, bound, listen
from neuron_observer.exporters.message import Response
from neuron_observer.exporters.page import Page
from neuron_observer.exporters.scrape import metrics_handler
from neuron_observer.loop import Loop
from neuron_observer.model import Frame, Health, Verdict
from neuron_observer.observer import HostReader, Options
from neuron_observer.sources.hostfs import DirectoryFs
from tests.exporters.feeds import OneFrame

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from neuron_observer.exporters.message import Handler, Request
    from neuron_observer.model import Batch, Cell

LISTING = TREES / "trn2.48xlarge-2.30.2-busy.tsv.gz"
CORES = 17  # of a device, so that a page of all that there is has 20,000 series
FRAMES = 6
SEED = 20261130


class Frames(OneFrame):
    """A feed that another frame comes from at every scrape: nothing on the page stays."""

    frame: Frame

    def __init__(self, frames: Sequence[Frame]) -> None:
        self._frames = cycle(frames)
        super().__init__(next(self._frames))

    def next(self) -> None:
        """Go on to another frame."""
        self.frame = next(self._frames)


def frames(folder: Path) -> list[Frame]:
    """Frames of one host in which every count and every measured value differs."""
    write_tree(LISTING, folder, CORES)
    clock = ManualClock(wall=1_788_000_030.0)
    reader = HostReader(DirectoryFs(str(folder)), clock, Options(machine=False))
    reader.poll()
    clock.advance(1.0)
    snapshot = reader.poll()
    reader.close()
    rng = random.Random(SEED)  # noqa: S311 - figures to print
    found = []
    for _ in range(FRAMES):
        moved = tuple(_moved(batch, rng) for batch in snapshot.batches)
        found.append(
            Frame(snapshot._replace(batches=moved), (), Health(Verdict.UNKNOWN, "not judged"))
        )
    return found


def _moved(batch: Batch, rng: random.Random) -> Batch:
    cells = list(batch.cells)
    for metric, column in batch.layout.columns.items():
        if METRICS[metric].kind in (Kind.COUNTER, Kind.GAUGE):
            for row in range(column.start, column.start + len(column.places)):
                cells[row] = _other(cells[row], rng)
    return batch._replace(cells=cells)


def _other(cell: Cell, rng: random.Random) -> Cell:
    if isinstance(cell, int):
        return cell + rng.randrange(1, 1_000_000)
    return rng.random() if isinstance(cell, float) else cell


def serve_frames(folder: Path) -> None:
    """`/metrics`: the next frame; `/again`: the same frame, as plain text."""
    feed = Frames(frames(folder))
    page = Page(feed, ManualClock(monotonic=feed.frame.snapshot.monotonic), detail="full")
    scrape = metrics_handler(page)

    def following(request: Request) -> Response:
        feed.next()
        return scrape(request)

    def again(_: Request) -> Response:
        return Response(page.render(Format.TEXT))

    _serve({"/metrics": following, "/cached": scrape, "/again": again})


def serve_loop(folder: Path) -> None:
    """A daemon that reads a whole trn2.48xlarge ten times a second."""
    write_tree(LISTING, folder)
    clock = SystemClock()
    reader = HostReader(
        DirectoryFs(str(folder)), clock, Options(keep=True, wait_for_firmware=False)
    )
    loop = Loop(reader, schedule={"fast": 0.1, "normal": 0.1, "slow": 10.0})
    with listen(Address("127.0.0.1", 0)) as listener:
        daemon = Daemon(loop, [listener], clock, detail="full")
        thread = Thread(target=daemon.run)
        thread.start()
        print(bound(listener).port, flush=True)
        sys.stdin.read()
        daemon.stop()
        thread.join()


def serve_prometheus_client(folder: Path) -> None:
    """The same series from prometheus_client's server, by a custom collector as its guide shows."""
    from prometheus_client import CollectorRegistry, start_http_server  # noqa: PLC0415 - theirs only
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily  # noqa: PLC0415
    from prometheus_client.parser import text_string_to_metric_families  # noqa: PLC0415
    from prometheus_client.registry import Collector  # noqa: PLC0415

    feed = Frames(frames(folder))
    text = Page(feed, ManualClock(), detail="full", stale_after=float("inf")).render().decode()
    rows = []
    for family in text_string_to_metric_families(text):
        names = list(family.samples[0].labels)
        same = [sample for sample in family.samples if list(sample.labels) == names]
        make = CounterMetricFamily if family.type == "counter" else GaugeMetricFamily
        values = [(list(sample.labels.values()), sample.value) for sample in same]
        rows.append((make, family.name, family.documentation, names, values))

    class Ready(Collector):
        def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
            for make, name, text, names, values in rows:
                family = make(name, text, labels=names)
                for labels, value in values:
                    family.add_metric(labels, value)
                yield family

    registry = CollectorRegistry()
    registry.register(Ready())
    server, _ = start_http_server(0, addr="127.0.0.1", registry=registry)
    print(server.server_port, flush=True)
    sys.stdin.read()


def _serve(routes: dict[str, Handler]) -> None:
    with listen(Address("127.0.0.1", 0)) as listener:
        server = Server([listener], routes)
        server.start()
        print(bound(listener).port, flush=True)
        sys.stdin.read()
        server.close()


SERVERS = {
    "frames": serve_frames,
    "loop": serve_loop,
    "prometheus_client": serve_prometheus_client,
}

if __name__ == "__main__":
    SERVERS[sys.argv[1]](Path(sys.argv[2]))
