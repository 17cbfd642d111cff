"""Every page: golden screens, any size, missing values, faults that can be read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.model import Confidence, Entity, Finding, Missing, Severity, Why
from neuron_observer.rules.loader import load
from neuron_observer.tui.findings import place_text
from neuron_observer.tui.layout import arrange, screen
from neuron_observer.tui.pages import PAGES
from neuron_observer.tui.panels import PANELS
from neuron_observer.tui.signs import ASCII
from neuron_observer.tui.view import Cells, View, Way
from tests.tui.fitting import assert_fits
from tests.tui.golden import CASES, SIZES, pages, pages_file
from tests.tui.hosts import FeedAtHand, moving, still, view_of
from tests.tui.played import faulty, feed_of

if TYPE_CHECKING:
    from neuron_observer.rules.rule import Rule

ANY = settings(max_examples=60, deadline=None)
# scenario, seconds, of which finding, on what, what to do
FAULTS = (
    ("component", 80, "link-intraserver", "neuron0", "replace instance"),
    ("corrected-ecc-storm", 120, "ecc-corrected-storm", "neuron0", "watch"),
    ("driver-absent", 100, "driver-not-loaded", "node", "reload driver"),
    ("firmware-dead", 120, "device-not-answering", "neuron0", ""),
    ("hbm-repair", 80, "hbm-repair-pending", "neuron0", "reload driver"),
    ("hbm-unrepairable", 80, "hbm-unrepairable", "neuron0", "replace instance"),
    ("host-memory-leak", 176, "host-memory", "node", ""),
    ("no-reset", 80, "no-reset-set", "node", ""),
    ("reset-loop", 120, "reset-loop", "neuron0", ""),
    ("sram-error", 80, "sram-uncorrectable", "neuron0", "replace instance"),
    ("status-errors", 120, "compute-hang", "neuron0", ""),
)


@pytest.mark.parametrize("case", CASES)
def test_golden_pages(case: str) -> None:
    """What every page shows of a host that is well, of one that is not, of one without devices."""
    for size in SIZES:
        golden = pages_file(case, *size)
        assert pages(case, *size) == golden.read_text(encoding="utf-8"), golden


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault[0])
def test_a_seeded_fault_can_be_read(fault: tuple[str, int, str, str, str]) -> None:
    """On the first screen at 80x24: what, where and what to do, in one line that is not cut."""
    scenario, seconds, finding, where, todo = fault
    view = view_of(feed_of(scenario, seconds, 8, "trn2.3xlarge"))
    text = screen(view, 80, 24)
    told = next(one for one in text[1:] if finding in one)
    assert where in told
    assert todo in told
    assert told.startswith(("critical", "warning"))
    seen = screen(view._replace(page="findings"), 80, 24)
    assert any(finding in one and where in one for one in seen[1:10])
    assert any(one.startswith("do: ") and todo in one for one in seen)


def _entity(scope: str) -> Entity:
    """One as a rule of a scope would name it, on the last device of the largest host."""
    kind = {"device": "device", "core": "core", "die": "device", "port": "port", "efa": "port"}
    of = Entity(kind.get(scope, "node"))  # type: ignore[arg-type]
    if of.kind in ("device", "core"):
        of = of._replace(device=15, core=7 if of.kind == "core" else None)
    return of._replace(port="rdmap144s25/1") if of.kind == "port" else of


def _of_rule(rule: Rule) -> Finding:
    entity = _entity(rule.scope)
    said = f"what was seen of {place_text(entity)}"
    return Finding(rule.id, entity, Severity.CRITICAL, Confidence.PROBABLE, rule.action, said)


def test_every_rule_can_be_read() -> None:
    """Whatever is found: place, name and action stand in 80 cells, the first word is how bad."""
    frame = still("trn2.48xlarge-2.30.2-busy").frame
    rules = load()
    assert len(rules) > 60
    for rule in rules:
        one = _of_rule(rule)
        view = view_of(FeedAtHand(frame._replace(findings=(one,))))
        told = screen(view, 80, 24)[1]
        assert told.startswith(f"critical {place_text(one.entity)} {rule.id}"), told
        todo = one.action.value.replace("_", " ")
        assert todo == "none" or f", {todo} (" in told, told


@ANY
@given(
    st.sampled_from(sorted(PAGES)),
    st.sampled_from(["empty", "inf2.48xlarge-2.30.2-worn", "trn1.32xlarge-2.24.7-busy"]),
    st.integers(1, 320),
    st.integers(1, 90),
    st.builds(Way, st.just("device.utilization"), st.booleans(), st.sampled_from(["", "3"])),
)
def test_any_page_in_any_size(page: str, name: str, width: int, height: int, way: Way) -> None:
    """Every screen has its size; no panel leaves it, none covers another."""
    view = view_of(still(name))._replace(page=page, way=way)
    assert_fits(view, width, height)


def test_every_panel_stands_on_a_page() -> None:
    """No panel is left over, and every page has a table that can be taken along."""
    view = view_of(feed_of("component", 80, 8, "trn2.3xlarge"))
    stand = {
        region.panel for page in PAGES for region in arrange(view._replace(page=page), 120, 40)
    }
    assert stand >= set(PANELS) - {"reasons", "banner"}
    for page in PAGES.values():
        sheet = page.sheet(view)
        ids = [column.id for column in sheet.columns]
        assert len(ids) == len(set(ids))
        assert set(sheet.natural) <= set(ids), page.name


def test_ascii_is_ascii() -> None:
    """With the ASCII signs no other sign is left on any page."""
    for page in PAGES:
        view = faulty()._replace(page=page, signs=ASCII)
        assert "\n".join(screen(view, 120, 40)).isascii(), page


@pytest.mark.parametrize("page", ["devices", "cores", "memory", "health", "power", "links"])
def test_missing_is_a_dash_with_its_reason(page: str) -> None:
    """Where nothing could be read no figure stands, and the last line says why."""
    frame = moving().frame
    gone = Missing(Why.STALE, "taken away")
    batches = tuple(b._replace(cells=[gone] * len(b.cells)) for b in frame.snapshot.batches)
    snapshot = frame.snapshot._replace(batches=batches)
    feed = FeedAtHand(frame._replace(snapshot=snapshot))
    view = View(feed, Cells(feed.frame or frame), snapshot.monotonic, 0, view_of(feed).signs)
    text = screen(view._replace(page=page), 120, 40)
    assert any("stale: taken away" in one for one in text)
    assert not any(re.search(r"\d%|\d [KMG]?i?B", one) for one in text[1:])
