"""What a tone looks like: the themes, as plain data for the screen and for pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neuron_observer.tui.lines import Tone


class Ink(NamedTuple):
    """How a tone is written; a colour is a name of the terminal's own or `#rrggbb`."""

    color: str | None = None
    bold: bool = False
    dim: bool = False
    reverse: bool = False


class Theme(NamedTuple):
    """One look of the screen; without ground and text those of the terminal stay."""

    help: str
    inks: Mapping[Tone, Ink]
    text: str | None = None
    ground: str | None = None


def _inks(colors: Mapping[Tone, str], dim: str | None = None) -> dict[Tone, Ink]:
    """All tones: those with a colour of their own, and what is bold, dim or reversed."""
    return {
        "plain": Ink(),
        "dim": Ink(dim) if dim else Ink(dim=True),
        "heading": Ink(bold=True),
        "figure": Ink(),
        "chosen": Ink(bold=True, reverse=True),
        **{tone: Ink(color, bold=tone in _LOUD) for tone, color in colors.items()},
    }


_LOUD = ("warn", "bad")
_TERMINAL: Mapping[Tone, str] = {
    "good": "green",
    "cool": "blue",
    "warm": "cyan",
    "hot": "green",
    "load": "green",
    "memory": "cyan",
    "power": "magenta",
    "warn": "yellow",
    "bad": "red",
}
_DARK: Mapping[Tone, str] = {
    "good": "#8fbf6a",
    "cool": "#5e81ac",
    "warm": "#5fb3c8",
    "hot": "#8fbf6a",
    "load": "#8fbf6a",
    "memory": "#5fb3c8",
    "power": "#b48ead",
    "warn": "#ebcb8b",
    "bad": "#e06c75",
}
_LIGHT: Mapping[Tone, str] = {
    "good": "#2e7d32",
    "cool": "#5c7ea8",
    "warm": "#00697a",
    "hot": "#2e7d32",
    "load": "#2e7d32",
    "memory": "#00697a",
    "power": "#7b3f8c",
    "warn": "#8a5a00",
    "bad": "#b3261e",
}
# Okabe and Ito, "Color Universal Design": told apart with every kind of colour vision
_SAFE: Mapping[Tone, str] = {
    "good": "#56b4e9",
    "cool": "#0072b2",
    "warm": "#009e73",
    "hot": "#56b4e9",
    "load": "#56b4e9",
    "memory": "#009e73",
    "power": "#cc79a7",
    "warn": "#f0e442",
    "bad": "#d55e00",
}
_MONO: dict[Tone, Ink] = {
    **_inks({}),
    **dict.fromkeys(("good", "cool", "warm", "hot", "load", "memory", "power"), Ink()),
    "warn": Ink(bold=True),
    "bad": Ink(bold=True, reverse=True),
}

THEMES: Mapping[str, Theme] = {
    "terminal": Theme("the terminal's own colours, dark or light", _inks(_TERMINAL)),
    "dark": Theme("light on dark", _inks(_DARK, "#8a93a3"), "#d8dee9", "#1d2129"),
    "light": Theme("dark on light", _inks(_LIGHT, "#5f6875"), "#20242c", "#fbfbf8"),
    "safe": Theme("for every kind of colour vision", _inks(_SAFE, "#9aa0a6"), "#e8eaed", "#101418"),
    "mono": Theme("no colour: bold, dim and reversed", _MONO),
}
DEFAULT = "terminal"
WITHOUT_COLOR = "mono"  # what NO_COLOR asks for
