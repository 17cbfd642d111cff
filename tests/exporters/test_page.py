"""The page: the same whether written at once or piece by piece, bounded, honest about its age."""

from __future__ import annotations

import gzip
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.catalogue.families import PREFIX
from neuron_observer.clock import ManualClock
from neuron_observer.exporters.exposition import Format
from neuron_observer.exporters.judged import JUDGED, LABELS, TAIL
from neuron_observer.exporters.own import Scrapes
from neuron_observer.exporters.page import Page
from neuron_observer.jobs.grouping import Around, group
from neuron_observer.model import (
    NODE,
    Action,
    Confidence,
    Coverage,
    DeviceHealth,
    Entity,
    Finding,
    Frame,
    Health,
    JobPace,
    JobScan,
    Missing,
    PartHealth,
    Place,
    Pod,
    RankPace,
    Run,
    Severity,
    State,
    Verdict,
    Why,
)
from neuron_observer.parsers.cgroup import Membership
from neuron_observer.sources.listing import ListingFs, Node, read_listing
from tests.conftest import TREES
from tests.exporters.feeds import OneFrame, batch, frame_of, read, together
from tests.exporters.golden import PAGES, Golden
from tests.hosts import host_of
from tests.jobs.makers import holder

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.catalogue.spec import Detail
    from neuron_observer.model import Cell

TRN2 = ("trn2.48xlarge-2.24.7-idle", "trn2.48xlarge-2.30.2-busy")
MACHINE = TREES / "machine"
_ADAPTER = re.compile(r"rdmap0s31|0000:00:1f\.0")


def page_of(frame: Frame | None, detail: Detail = "core") -> Page:
    """A page at the instant of its frame."""
    now = frame.snapshot.monotonic if frame else 0.0
    return Page(OneFrame(frame), ManualClock(monotonic=now), detail=detail)


def series_of(page: str) -> list[str]:
    """The lines with a value."""
    return [line for line in page.splitlines() if not line.startswith("#")]


def text(page: Page, form: Format = Format.TEXT) -> str:
    """A page as text."""
    return page.render(form).decode()


def values(page: str, name: str) -> dict[str, str]:
    """Labels → value of a name's series."""
    found = [re.fullmatch(rf"{name}(\{{.*\}})? (\S+)", line) for line in series_of(page)]
    return {match[1] or "": match[2] for match in found if match}


# form


@pytest.mark.parametrize("name", [TRN2[0], "inf2.48xlarge-2.30.2-worn"])
def test_a_page_is_well_formed(
    name: str, tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """One HELP and one TYPE a family, its series below them and nowhere else, none twice."""
    page = text(page_of(read(tree(name), clock), "full"))
    heads, series, inside = [], [], ""
    for line in page.splitlines():
        if line.startswith("# TYPE "):
            inside = line.split()[2]
            heads.append(inside)
        elif not line.startswith("#"):
            assert re.split(r"[{ ]", line)[0] == inside
            series.append(line.rpartition(" ")[0])
    assert len(set(heads)) == len(heads) == page.count("# HELP ")
    assert len(set(series)) == len(series)
    bare = [head.removesuffix("_total").removesuffix("_info") for head in heads]
    assert bare[:-2] == sorted(bare[:-2])
    assert heads[-2:] == ["neuron_observer_frame_age_seconds", "neuron_observer_series"]
    assert all(head.startswith(PREFIX) for head in heads)


def test_both_formats_have_the_same_series(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """Only what stands above a family differs, and the end."""
    page = page_of(read(tree("trn2.3xlarge-2.30.2-busy"), clock))
    openmetrics = text(page, Format.OPENMETRICS)
    assert series_of(text(page)) == series_of(openmetrics)
    assert openmetrics.endswith("\n# EOF\n")
    assert "# EOF" not in text(page)
    assert "# UNIT neuron_core_time_in_use_seconds seconds\n" in openmetrics


@pytest.mark.parametrize("form", Format, ids=["text", "openmetrics"])
def test_compressed_is_the_same(
    form: Format, tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """One gzip member that any tool reads, byte for byte the page, first and later."""
    feed = OneFrame()
    page = Page(feed, clock, detail="full")
    for name in ("trn2.3xlarge-2.30.2-busy", "inf2.48xlarge-2.30.2-worn"):
        assert gzip.decompress(page.render(form, gzip=True)) == page.render(form)
        feed.frame = read(tree(name), clock)
        for _ in range(2):
            packed = page.render(form, gzip=True)
            assert gzip.decompress(packed) == page.render(form)
            assert len(packed) < len(page.render(form)) / 5


@pytest.mark.parametrize("golden", PAGES, ids=lambda golden: golden.file.name)
def test_golden(golden: Golden, tree: Callable[[str], ListingFs]) -> None:
    """Whole pages, reviewed by eye."""
    assert golden.page(tree(golden.listing)) == golden.file.read_text(encoding="utf-8")


# size


def _adapters(count: int) -> ListingFs:
    """As many EFA as that, each a copy of the listed one."""
    one = read_listing(str(MACHINE / "efa-one.tsv")).passes[0].nodes
    nodes: dict[str, Node] = {}
    for number in range(count):
        names = {"rdmap0s31": f"rdmap{number}s31", "0000:00:1f.0": f"0000:{number:02x}:1f.0"}
        swap = partial(_ADAPTER.sub, lambda match, names=names: names[match[0]])
        for path, node in one.items():
            nodes[swap(path)] = Node(node.kind, node.mode, node.content, 0, swap(node.target))
    host = host_of({})
    host.listing.passes[0].nodes.update(nodes)
    return host


@pytest.mark.parametrize("name", TRN2)
def test_a_whole_trn2_has_at_most_2500_series(
    name: str, tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """At the default detail: 16 devices, 128 cores, 16 EFA and the host's own figures."""
    host = ListingFs(read_listing(str(MACHINE / "host.tsv")), "host")
    frame = read(together(tree(name), _adapters(16), host), clock)
    page = text(page_of(frame))
    assert 1500 < len(series_of(page)) <= 2500
    assert len(values(page, "neuron_efa_port_tx_bytes_total")) == 16
    assert len(values(page, "neuron_core_time_in_use_seconds_total")) == 128
    assert values(page, "neuron_host_cpus") == {"": "2"}


def test_details_only_add(tree: Callable[[str], ListingFs], clock: ManualClock) -> None:
    """Each level has the series of the one below and more; the count on the page is right."""
    frame = read(tree("trn2.3xlarge-2.30.2-busy"), clock)
    before: set[str] = set()
    for detail in ("node", "device", "core", "full"):
        page = text(page_of(frame, detail))
        now = {line.rpartition(" ")[0] for line in series_of(page)}
        assert before < now
        assert values(page, "neuron_observer_series") == {"": str(len(now))}
        before = now


# truth


def test_another_detail_is_as_if_it_had_been_so(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """What is shown changes between two scrapes of one frame, back and forth."""
    frame = read(tree("trn2.3xlarge-2.30.2-busy"), clock)
    page = page_of(frame, "full")
    details: tuple[Detail, ...] = ("full", "node", "core", "device", "full")
    for detail in details:
        page.show(detail, job_labels=False)
        assert text(page) == text(page_of(frame, detail))
        assert gzip.decompress(page.render(gzip=True)) == page.render()


def test_every_family_has_the_labels_that_the_documentation_names() -> None:
    """For those that are no readings: what docs/metrics.md says, with an example of each."""
    devices = (DeviceHealth(0, Verdict.HEALTHY, ""),)
    entity = Entity("rank", device=1, core=2, port="p", job="j", rank=3)
    words = (Severity.INFO, Confidence.PROBABLE, Action.NONE)
    ill = (Entity("core", device=1, core=2), Entity("link", port="l"), Entity("port", port="p"))
    parts = tuple(PartHealth(who, Verdict.DEGRADED, "") for who in ill)
    one = frame_of(health=Health(Verdict.HEALTHY, "", devices=devices, parts=parts))
    member = holder(pod=Pod("u", "p", "n"), member=Membership(slurm_job="1"))
    (job,) = group([member], Around(mapped={0: ("m",)}))
    pace = RankPace("training", 3, 0.1, 1.0, 0.6, 0.3, 0.1, entered=9, role="s", replica="d")
    rank = job.ranks[0]._replace(rank=0, pace=pace)
    job = job._replace(ranks=(rank,), pace=JobPace("training", 1.0, "hook", 1.0, 1.2, 1))
    snapshot = one.snapshot._replace(
        runs=(Run("efa", ok=True, seconds=0.0),), jobs=(job,), job_scan=JobScan(1, 1, 0, 0)
    )
    finding = Finding("f", entity, *words, "")
    hidden = finding._replace(state=State.SUPPRESSED)
    found_all = (finding, finding._replace(shadow=True), hidden)
    shown = OneFrame(Frame(snapshot, found_all, one.health))
    counted = Page(shown, ManualClock(monotonic=0.0), job_labels=True)
    counted.scrapes = Scrapes()
    page = text(counted)
    for family in (*JUDGED, *TAIL):
        found = values(page, family.sample_name)
        assert found, family.name
        for labels in found:
            names = set(re.findall(r'(\w+)="', labels))
            assert names == set(LABELS.get(family.name, ())), family.name


def test_before_the_first_frame() -> None:
    """The program is there, and says nothing of what it does not know."""
    page = text(page_of(None))
    assert [line.split("{")[0].split()[0] for line in series_of(page)] == [
        "neuron_observer_info",
        "neuron_observer_series",
    ]


def test_why_readings_are_missing_is_counted() -> None:
    """Every reason has a series; one without a case is a true 0."""
    rows: dict[str, list[tuple[Place, Cell]]] = {
        "host.cpus": [(NODE, Missing(Why.FAILED))],
        "device.hbm.used": [(Place(0), 1), (Place(1), Missing(Why.STALE))],
        "core.pe_array.row_group0.idle_cycles": [(Place(0, 0), Missing(Why.STALE))],
    }
    page = text(page_of(frame_of(batch(rows))))
    assert values(page, "neuron_observer_missing_readings") == {
        '{reason="unsupported"}': "0",
        '{reason="denied"}': "0",
        '{reason="failed"}': "1",
        '{reason="stale"}': "2",
        '{reason="not_yet"}': "0",
    }
    assert len(values(page, "neuron_device_hbm_used_bytes")) == 1


def test_a_frame_too_old_shows_no_readings() -> None:
    """The loop hangs: its age grows, then all readings go and the verdict is unknown."""
    clock = ManualClock(monotonic=100.0)
    healthy = Health(Verdict.HEALTHY, "well", devices=(DeviceHealth(0, Verdict.HEALTHY, ""),))
    one = batch({"device.hbm.used": [(Place(0), 5), (Place(1), 6)]})
    feed = OneFrame(frame_of(one, monotonic=100.0, health=healthy))
    page = Page(feed, clock)
    assert values(text(page), "neuron_health")['{neuron_health="healthy"}'] == "1"
    clock.advance(14.5)
    late = text(page)
    assert values(late, "neuron_observer_frame_age_seconds") == {"": "14.5"}
    assert len(values(late, "neuron_device_hbm_used_bytes")) == 2
    clock.advance(1.0)
    gone = text(page)
    assert gzip.decompress(page.render(gzip=True)).decode() == gone
    assert values(gone, "neuron_observer_frame_age_seconds") == {"": "15.5"}
    assert values(gone, "neuron_device_hbm_used_bytes") == {}
    assert values(gone, "neuron_health")['{neuron_health="healthy"}'] == "0"
    assert values(gone, "neuron_health")['{neuron_health="unknown"}'] == "1"
    assert values(gone, "neuron_device_health") == {}
    assert values(gone, "neuron_observer_missing_readings")['{reason="stale"}'] == "2"
    feed.frame = frame_of(one, monotonic=clock.monotonic())
    assert len(values(text(page), "neuron_device_hbm_used_bytes")) == 2


def test_the_verdict_and_what_it_rests_on() -> None:
    """A StateSet for the node and for each device, and the coverage."""
    devices = (DeviceHealth(0, Verdict.HEALTHY, ""), DeviceHealth(3, Verdict.UNHEALTHY, ""))
    health = Health(Verdict.DEGRADED, "", Coverage(41, 43), devices)
    page = text(page_of(frame_of(health=health)))
    assert [k for k, v in values(page, "neuron_health").items() if v == "1"] == [
        '{neuron_health="degraded"}'
    ]
    assert len(values(page, "neuron_health")) == 4
    assert [k for k, v in values(page, "neuron_device_health").items() if v == "1"] == [
        '{neuron_device="0",neuron_device_health="healthy"}',
        '{neuron_device="3",neuron_device_health="unhealthy"}',
    ]
    assert values(page, "neuron_health_signals_decided") == {"": "41"}
    assert values(page, "neuron_health_signals_required") == {"": "43"}


def test_findings() -> None:
    """One series an active finding; pending and resolved ones are none, equal ones are one."""
    bad = Finding(
        "hbm-unrepairable",
        Entity("device", device=3, serial="abc"),
        Severity.CRITICAL,
        Confidence.CONFIRMED,
        Action.REPLACE_INSTANCE,
        "3 errors",
    )
    slow = bad._replace(
        id="straggler",
        entity=Entity("rank", job="llama", rank=7, core=None),
        severity=Severity.WARNING,
        confidence=Confidence.PROBABLE,
        action=Action.WATCH,
        state=State.ACKNOWLEDGED,
    )
    over = [bad._replace(id="x", state=state) for state in (State.PENDING, State.RESOLVED)]
    frame = frame_of()._replace(findings=(bad, bad._replace(message="4"), slow, *over))
    found = values(text(page_of(frame)), "neuron_finding_active")
    assert found == {
        '{action="replace_instance",confidence="confirmed",entity="device",'
        'finding="hbm-unrepairable",neuron_device="3",severity="critical",state="firing"}': "1",
        '{action="watch",confidence="probable",entity="rank",finding="straggler",'
        'neuron_job="llama",neuron_rank="7",severity="warning",state="acknowledged"}': "1",
    }


def test_collectors_of_frames_that_nobody_scraped() -> None:
    """The last run of each collector, and when one last succeeded."""
    clock = ManualClock(monotonic=0.0)
    feed = OneFrame()
    page = Page(feed, clock)
    runs = ((10.0, True, "efa"), (11.0, False, "efa"), (12.0, True, "node"), (13.0, False, "new"))
    for at, ok, name in runs:
        frame = frame_of()
        snapshot = frame.snapshot._replace(
            at=at, runs=(Run(name, ok, 0.25, "" if ok else "broke"),)
        )
        feed.frame = frame._replace(snapshot=snapshot)
        page.note(feed.frame)
    shown = text(page)
    head = "neuron_observer_collector"
    assert values(shown, f"{head}_success") == {
        '{collector="efa"}': "0",
        '{collector="new"}': "0",
        '{collector="node"}': "1",
    }
    assert values(shown, f"{head}_last_success_timestamp_seconds") == {
        '{collector="efa"}': "10.0",
        '{collector="node"}': "12.0",
    }
    assert values(shown, f"{head}_duration_seconds")['{collector="efa"}'] == "0.25"


# piece by piece


def test_the_same_frame_is_the_same_page(
    tree: Callable[[str], ListingFs], clock: ManualClock
) -> None:
    """Only its age changes between two scrapes of one frame."""
    page = Page(OneFrame(read(tree("trn2.3xlarge-2.30.2-busy"), clock)), clock)
    first = text(page)
    clock.advance(0.5)
    changed = set(text(page).splitlines()) - set(first.splitlines())
    assert changed == {"neuron_observer_frame_age_seconds 0.5"}


METRICS = ("core.inferences", "core.time_in_use", "device.name", "driver.state", "device.hbm.used")
cells: st.SearchStrategy[Cell] = st.integers(0, 3) | st.sampled_from(
    ["live", "gone", Missing(Why.STALE), Missing(Why.DENIED)]
)
batches = st.lists(
    st.dictionaries(
        st.sampled_from(METRICS),
        st.lists(st.tuples(st.builds(Place, st.integers(0, 2)), cells), max_size=3),
        max_size=3,
    ),
    max_size=3,
)


@settings(max_examples=60)
@given(st.lists(batches, min_size=1, max_size=6), st.sampled_from(Format), st.data())
def test_piece_by_piece_is_as_at_once(
    ticks: list[list[dict[str, list[tuple[Place, Cell]]]]], form: Format, data: st.DataObject
) -> None:
    """Whatever changes, rows or whole batches: a page that lived through it is a new page's."""
    feed = OneFrame()
    page = Page(feed, ManualClock(monotonic=0.0), detail="full")
    for tick in ticks:
        rows = [{m: list(dict(of).items()) for m, of in one.items()} for one in tick]
        feed.frame = frame_of(*(batch(one) for one in rows))
        expected = page_of(feed.frame, "full").render(form)
        if data.draw(st.booleans()):
            assert gzip.decompress(page.render(form, gzip=True)) == expected
        else:
            assert page.render(form) == expected


def test_many_scrapers_at_once() -> None:
    """Threads that scrape while frames come: every page is whole, and of one frame."""
    feed = OneFrame()
    page = Page(feed, ManualClock(monotonic=0.0))
    frames = [
        frame_of(batch({"device.hbm.used": [(Place(device), number) for device in range(number)]}))
        for number in range(1, 9)
    ]
    done = threading.Event()

    def come() -> None:
        for frame in cycle(frames):
            if done.is_set():
                return
            feed.frame = frame
            page.note(frame)

    def scrape(_: int) -> None:
        for _ in range(25):
            shown = gzip.decompress(page.render(gzip=True)).decode()
            found = values(shown, "neuron_device_hbm_used_bytes")
            assert set(found.values()) == {str(len(found))}
            assert values(shown, "neuron_observer_series") == {"": str(len(series_of(shown)))}

    feed.frame = frames[0]
    source = threading.Thread(target=come)
    source.start()
    try:
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(scrape, range(4))) == [None] * 4
    finally:
        done.set()
        source.join()
