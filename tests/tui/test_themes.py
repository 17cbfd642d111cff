"""Themes: every tone in each, told apart without colour too; pictures of them."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from neuron_observer.tui.canvas import styles_of
from neuron_observer.tui.lines import Span, Tone
from neuron_observer.tui.svg import svg
from neuron_observer.tui.themes import DEFAULT, THEMES, WITHOUT_COLOR


def _light(color: str) -> float:
    """Relative luminance (WCAG 2) of `#rrggbb`."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast of two colours, 1 to 21."""
    dark, light = sorted((_light(one), _light(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("name", sorted(THEMES))
def test_every_tone_has_its_ink(name: str) -> None:
    """And what is loud is loud without its colour."""
    theme = THEMES[name]
    assert set(theme.inks) == set(get_args(Tone))
    assert all(theme.inks[tone].bold or theme.inks[tone].reverse for tone in ("warn", "bad"))
    assert theme.inks["chosen"].reverse
    assert len(styles_of(theme)) == len(theme.inks)


@pytest.mark.parametrize("name", [name for name in sorted(THEMES) if THEMES[name].ground])
def test_every_text_can_be_read(name: str) -> None:
    """At least 4.5 to the ground, bars 3 (WCAG 2, level AA)."""
    theme = THEMES[name]
    assert theme.ground is not None
    assert theme.text is not None
    for tone, ink in theme.inks.items():
        least = 3.0 if tone in ("cool", "warm", "hot", "load", "memory", "power") else 4.5
        assert contrast(ink.color or theme.text, theme.ground) >= least, tone


def test_mono_has_no_colour() -> None:
    """NO_COLOR asks for it; the default leaves ground and text to the terminal."""
    theme = THEMES[WITHOUT_COLOR]
    assert all(ink.color is None for ink in theme.inks.values())
    assert (theme.ground, theme.text) == (None, None)
    assert (THEMES[DEFAULT].ground, THEMES[DEFAULT].text) == (None, None)


def test_a_picture_has_every_piece_in_its_place() -> None:
    """Also of text that XML would take for its own."""
    text = svg([(Span("a<b & "), Span("c", "bad")), (), (Span(" x", "chosen"),)], 10, "t & t")
    assert "a&lt;b &amp;" in text
    assert re.search(r'class="bad" x="64.4"', text)
    assert text.count("<rect") == 2
    assert "<title>t &amp; t</title>" in text
