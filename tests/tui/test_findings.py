"""Findings on the screen: the worst first, what to do, how many do not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from neuron_observer.model import (
    Action,
    Confidence,
    Coverage,
    Entity,
    Finding,
    Health,
    Severity,
    State,
    Verdict,
)
from neuron_observer.tui.findings import findings, place_text, shown, worst_first
from neuron_observer.tui.layout import arrange, printed, screen
from neuron_observer.tui.lines import plain
from tests.tui.hosts import still, view_of

if TYPE_CHECKING:
    from neuron_observer.tui.view import View

CONFIRMED, PROBABLE = Confidence.CONFIRMED, Confidence.PROBABLE
FOUND = (
    Finding("note", Entity("node"), Severity.INFO, CONFIRMED, Action.NONE, "before we watched"),
    Finding(
        "hbm-repair",
        Entity("device", device=3),
        Severity.CRITICAL,
        PROBABLE,
        Action.RELOAD_DRIVER,
        "a kernel line names it",
    ),
    Finding(
        "sram",
        Entity("core", device=11, core=2),
        Severity.CRITICAL,
        CONFIRMED,
        Action.REPLACE_INSTANCE,
        "its count rose",
    ),
    Finding(
        "over",
        Entity("device", device=1),
        Severity.CRITICAL,
        CONFIRMED,
        Action.REBOOT,
        "long ago",
        State.RESOLVED,
    ),
)


def faulty() -> View:
    """A node of which four things were found, one of them over."""
    feed = still("trn2.48xlarge-2.30.2-busy")
    health = Health(Verdict.UNHEALTHY, "neuron11: sram", Coverage(4, 4))
    feed.frame = feed.frame._replace(findings=FOUND, health=health)
    return view_of(feed)


def test_the_worst_and_surest_is_first() -> None:
    """What is over is not shown."""
    assert [one.id for one in shown(faulty())] == ["sram", "hbm-repair", "note"]


def test_devices_are_in_the_order_of_their_numbers() -> None:
    """neuron2 stands before neuron10, and a core by its number too."""
    places = [(10, None), (2, 11), (1, None), (2, 3), (11, None), (0, None)]
    found = [FOUND[1]._replace(entity=Entity("core", device=d, core=c)) for d, c in places]
    assert [place_text(one.entity) for one in worst_first(found)] == [
        *("neuron0", "neuron1", "neuron2 core 3", "neuron2 core 11", "neuron10", "neuron11"),
    ]


def test_a_finding_says_where_what_and_what_to_do() -> None:
    """One line each, the severity in its tone."""
    lines = findings(faulty(), 120, 3)
    assert plain(lines[0]) == (
        "critical neuron11 core 2 sram, replace instance (confirmed) its count rose"
    )
    assert plain(lines[2]) == "info node note (confirmed) before we watched"
    assert [one[0].tone for one in lines] == ["bad", "bad", "plain"]


def test_what_does_not_count_says_so() -> None:
    """In shadow, and not yet or no longer firing: never as if it were a fault like the others."""
    feed = still("trn2.48xlarge-2.30.2-busy")
    shadow, pending = FOUND[2]._replace(shadow=True), FOUND[1]._replace(state=State.PENDING)
    feed.frame = feed.frame._replace(findings=(shadow, pending, FOUND[0]))
    lines = findings(view_of(feed), 120, 3)
    assert plain(lines[0]).startswith("info node note (confirmed)")
    assert plain(lines[1]).startswith("critical neuron3 hbm-repair, reload driver (pending, prob")
    assert plain(lines[2]).startswith(
        "critical neuron11 core 2 sram, replace instance (in shadow, "
    )
    assert "not counted" in plain(lines[2])
    assert lines[2][0].tone == "dim"


def test_findings_that_do_not_fit_are_counted() -> None:
    """At 80x24 the worst one stands above the devices, with the number of the others."""
    second = screen(faulty(), 80, 24)[1]
    assert second.startswith("critical neuron11 core 2 sram, replace instance")
    assert second.endswith("2 more")
    assert len(second) <= 80
    assert {region.panel for region in arrange(faulty(), 80, 24)} >= {"cores", "tabs", "host"}
    assert any("/96" in text for text in screen(faulty(), 80, 24))  # tiles keep their memory


def test_a_printed_frame_has_all_findings() -> None:
    """None is left out where there is room."""
    text = "\n".join(printed(faulty(), 120))
    assert all(name in text for name in ("sram", "hbm-repair", "note"))
    assert "unhealthy: neuron11: sram" in text


@pytest.mark.parametrize(
    ("entity", "text"),
    [
        (Entity("node"), "node"),
        (Entity("port", port="rdmap16s25/1"), "port rdmap16s25/1"),
        (Entity("rank", job="pretrain", rank=7), "rank pretrain rank 7"),
        (Entity("link", device=4), "neuron4"),
    ],
)
def test_who_it_is_about(entity: Entity, text: str) -> None:
    """Device and core where there is one, else the kind of thing and its name."""
    assert place_text(entity) == text
