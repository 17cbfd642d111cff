"""Our page is what prometheus_client makes of the same families, line by line."""

from __future__ import annotations

import re
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.openmetrics import exposition, parser
from prometheus_client.parser import text_string_to_metric_families

from neuron_observer.catalogue import METRICS, Kind
from neuron_observer.clock import ManualClock
from neuron_observer.exporters import collector
from neuron_observer.exporters.collector import NeuronCollector
from neuron_observer.exporters.exposition import Format
from neuron_observer.exporters.page import Page
from neuron_observer.model import Missing, Place, Why
from tests.exporters.feeds import NOT_JUDGED, OneFrame, batch, frame_of, read

if TYPE_CHECKING:
    from collections.abc import Callable

    from prometheus_client.metrics_core import Metric

    from neuron_observer.feed import Feed
    from neuron_observer.model import Cell, Frame
    from neuron_observer.sources.listing import ListingFs


def theirs(feed: Feed, clock: ManualClock, form: Format) -> str:
    """What prometheus_client writes."""
    registry = CollectorRegistry()
    registry.register(NeuronCollector(feed, clock, detail="full"))
    if form is Format.TEXT:
        return generate_latest(registry).decode()
    return bytes(exposition.generate_latest(registry)).decode()  # type: ignore[no-untyped-call]


def parsed(page: str, form: Format) -> list[Metric]:
    """A page as the library reads it; values as floats, because its writer makes them so."""
    if form is Format.TEXT:
        found = list(text_string_to_metric_families(page))
    else:
        found = list(parser.text_string_to_metric_families(page))  # type: ignore[no-untyped-call]
    for family in found:
        family.samples = [s._replace(value=float(s.value)) for s in family.samples]
    return found


def split(page: str) -> list[tuple[str, float | None]]:
    """Lines; of those with a value the text before it, and the value."""
    pairs: list[tuple[str, float | None]] = []
    for line in page.removesuffix("\n").split("\n"):
        before, _, value = line.rpartition(" ")
        pairs.append((line, None) if line.startswith("#") else (before, float(value)))
    return pairs


def assert_equal(frame: Frame | None, form: Format) -> None:
    """The same families, in the same order, with the same text but for the form of a number."""
    clock = ManualClock(monotonic=frame.snapshot.monotonic if frame else 0.0)
    clock.advance(0.25)
    feed = OneFrame(frame)
    ours = Page(feed, clock, detail="full").render(form).decode()
    other = theirs(feed, clock, form)
    assert split(ours) == split(other)
    assert parsed(ours, form) == parsed(other, form)


@pytest.mark.parametrize("form", Format, ids=["text", "openmetrics"])
@pytest.mark.parametrize(
    "name", ["trn2.3xlarge-2.30.2-busy", "inf2.48xlarge-2.30.2-worn", "trn1.32xlarge-2.24.7-busy"]
)
def test_whole_hosts(
    name: str, form: Format, tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """Every series of a host."""
    assert_equal(read(tree(name), clock), form)


labels = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
scopes = {"device": (0, None), "core": (1, 2), "node": (None, None)}


@st.composite
def frames(draw: st.DrawFn) -> Frame:
    """Any metrics with any values, texts and gaps; places with any label."""
    rows: dict[str, list[tuple[Place, Cell]]] = {}
    for spec in draw(st.lists(st.sampled_from(sorted(METRICS.values())), max_size=12)):
        device, core = scopes.get(spec.scope, (None, None))
        names = [""] if spec.scope in scopes else draw(st.lists(labels, max_size=3, unique=True))
        rows[spec.id] = [(Place(device, core, name), draw(cells(spec.kind))) for name in names]
    return frame_of(batch(rows), health=NOT_JUDGED)


def cells(kind: Kind) -> st.SearchStrategy[Cell]:
    """What a reading of a kind may hold."""
    numbers: st.SearchStrategy[Cell] = st.integers(0, 2**64 - 1)
    if kind is not Kind.COUNTER:
        numbers |= st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**63), 0)
    missing = st.builds(Missing, st.sampled_from(Why), labels)
    return numbers | labels | missing if kind in (Kind.INFO, Kind.STATE) else numbers | missing


@settings(max_examples=60)
@given(frames(), st.sampled_from(Format))
def test_made_up_readings(frame: Frame, form: Format) -> None:
    """Whatever stands in labels, whatever the values are."""
    assert_equal(frame, form)


@pytest.mark.parametrize("form", Format, ids=["text", "openmetrics"])
def test_before_the_first_frame(form: Format) -> None:
    """Nothing but the program itself."""
    assert_equal(None, form)


def test_a_frame_too_old() -> None:
    """The collector withholds readings as the page does."""
    clock = ManualClock(monotonic=100.0)
    feed = OneFrame(frame_of(batch({"host.cpus": [(Place(), 4)]}), monotonic=100.0))
    assert "neuron_host_cpus" in theirs(feed, clock, Format.TEXT)
    clock.advance(16.0)
    late = theirs(feed, clock, Format.TEXT)
    assert split(late) == split(Page(feed, clock, detail="full").render().decode())
    assert "neuron_host_cpus" not in late


def test_registering_reads_nothing() -> None:
    """A registry asks for names when a collector is registered; ours has none to give yet."""
    asked: list[str] = []

    class Counted(OneFrame):
        def latest(self) -> Frame | None:
            asked.append("latest")
            return super().latest()

    CollectorRegistry().register(NeuronCollector(Counted(), ManualClock()))
    assert asked == []


def test_the_example_works(tree: Callable[[str], ListingFs]) -> None:
    """The five lines of the docstring, with a listing as the host."""
    text = collector.NeuronCollector.__doc__ or ""
    example = text[text.index("Example::") :].partition("\n\n")[2]
    code = dedent(example).replace("...", "page = generate_latest(registry)")
    served: list[int] = []
    from neuron_observer.clock import SystemClock  # noqa: PLC0415 - what a reader would import
    from neuron_observer.loop import Loop, running  # noqa: PLC0415
    from neuron_observer.observer import HostReader  # noqa: PLC0415

    registry = CollectorRegistry()
    names: dict[str, object] = {
        "Loop": Loop,
        "running": running,
        "HostReader": HostReader,
        "DirectoryFs": {"/": tree("trn2.3xlarge-2.30.2-busy")}.__getitem__,
        "SystemClock": SystemClock,
        "NeuronCollector": NeuronCollector,
        "registry": registry,
        "start_http_server": lambda port, **_: served.append(port),
        "generate_latest": generate_latest,
    }
    exec(code, names)  # noqa: S102 - our own docstring
    page = names["page"]
    assert isinstance(page, bytes)
    assert re.search(rb"^neuron_observer_info", page, re.MULTILINE)
    assert served == [9100]
