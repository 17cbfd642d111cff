"""Whole screens as text: golden frames, any size, dashes and their reasons."""

from __future__ import annotations

import re
from functools import cache
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.model import Missing, Place, Why
from neuron_observer.tui.layout import arrange, printed, screen
from neuron_observer.tui.lines import plain
from neuron_observer.tui.reasons import by_reason, listed, reasons
from neuron_observer.tui.signs import ASCII
from tests.tui.fitting import assert_fits
from tests.tui.golden import GOLDEN, HOSTS, frames
from tests.tui.hosts import moving, still, view_of

if TYPE_CHECKING:
    from neuron_observer.tui.view import View

ANY = settings(max_examples=40)


@cache
def still_view(name: str) -> View:
    """A view of a host that stands still."""
    return view_of(still(name))


@pytest.mark.parametrize("name", HOSTS)
def test_golden_frames(name: str) -> None:
    """What is shown at 80x24, 120x40 and 200x60, as reviewed."""
    for file, text in frames(name).items():
        assert text == (GOLDEN / file).read_text(encoding="utf-8"), file


@ANY
@given(st.sampled_from(HOSTS[:-1]), st.integers(1, 320), st.integers(1, 90))
def test_any_size(name: str, width: int, height: int) -> None:
    """Every screen has its size; no panel leaves it, none covers another."""
    view = still_view(name)
    assert_fits(view, width, height)


def test_at_80x24_nothing_is_left_out() -> None:
    """The smallest size that is promised has every panel."""
    panels = {region.panel for region in arrange(view_of(moving()), 80, 24)}
    of_it = ("node", "devices", "identity", "cores", "memory", "power", "jobs", "host", "reasons")
    assert panels == {*of_it, "tabs"}  # no findings: there are none


def missing_everything(why: Why) -> View:
    """The busy host, every reading of which is missing."""
    feed = view_of(still("trn2.48xlarge-2.30.2-busy")).feed
    frame = feed.latest()
    assert frame is not None
    gone = Missing(why, "taken away by a test")
    batches = tuple(b._replace(cells=[gone] * len(b.cells)) for b in frame.snapshot.batches)
    changed = frame._replace(snapshot=frame.snapshot._replace(batches=batches))
    feed = still("empty")
    feed.frame = changed
    return view_of(feed)


@pytest.mark.parametrize("why", list(Why))
@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
def test_missing_is_never_zero(why: Why, size: tuple[int, int]) -> None:
    """Where nothing could be read no percentage, no size and no bar is shown."""
    text = "\n".join(screen(missing_everything(why), *size)[2:])
    assert not re.search(r"\d%|\d [KMG]iB|[█#▏]", text), text
    assert text.count("—") > 30
    assert f"{why.value}: taken away by a test" in text


def test_every_dash_of_the_selected_device_is_explained() -> None:
    """All that is missing has a reason, and each reason names what is missing for it."""
    told = by_reason(missing_everything(Why.DENIED))
    assert list(told) == ["denied: taken away by a test", "unsupported: no EFA port here"]
    names = told["denied: taken away by a test"]
    assert {"util", "HBM", "power of the minute", "firmware", "cpu", "mem"} <= set(names)


def test_reasons_that_do_not_fit_are_counted() -> None:
    """The last line says how many are left and which key shows them."""
    view = view_of(still("inf2.48xlarge-2.30.2-worn"))
    every = listed(view)
    two = [plain(text) for text in reasons(view, 80, 2)]
    assert len(two) == 2
    assert all(len(text) <= 80 for text in two[1:])
    assert two[1].endswith(f"{len(every) - 2} more: w")
    assert len(reasons(view, 80, len(every))) == len(every)


def test_ascii_is_ascii() -> None:
    """With the ASCII signs no other sign is left on a screen."""
    assert "\n".join(screen(view_of(moving(), signs=ASCII), 120, 40)).isascii()


def test_a_printed_frame_is_whole() -> None:
    """No keys, no cut: every core, every category and every reason."""
    lines = printed(view_of(still("inf2.48xlarge-2.30.2-worn")), 80)
    text = "\n".join(lines)
    assert "quit" not in text
    assert " more" not in text
    assert "uncategorized" in text
    assert text.count("\n— ") == len(by_reason(view_of(still("inf2.48xlarge-2.30.2-worn"))))
    assert "die 1 —" in text


@ANY
@given(st.integers(0, 2**32 - 1), st.floats(0, 1), st.sampled_from([(80, 24), (120, 40)]))
def test_any_hole_is_a_dash_with_a_reason(seed: int, share: float, size: tuple[int, int]) -> None:
    """Whatever is missing: every core says so where it is, and each reason is told."""
    frame = still("trn2.3xlarge-2.30.2-busy").frame
    dice = Random(seed)  # noqa: S311 - a test's choice
    gone = Missing(Why.FAILED, "a hole")
    batches = tuple(
        batch._replace(cells=[gone if dice.random() < share else cell for cell in batch.cells])
        for batch in frame.snapshot.batches
    )
    feed = still("empty")
    feed.frame = frame._replace(snapshot=frame.snapshot._replace(batches=batches))
    view = view_of(feed)
    text = screen(view, *size)
    for core in range(8):
        held = view.cells.at("core.hbm.used", Place(0, core))
        row = next(one for one in text if one.startswith(f" {core} "))[: size[0] // 2]
        assert (row.split()[-1] == "—") == isinstance(held, Missing)
    is_gone = view.cells.at("device.power.mean", Place(0)) == gone
    told = by_reason(view).get("failed: a hole", [])
    assert ("power of the minute" in told) == is_gone
