"""The literal by which lines are found: sure to stand in all that its expression matches."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuron_observer.errors import ConfigError
from neuron_observer.rules.anchors import anchor
from neuron_observer.rules.matcher import Matcher
from neuron_observer.rules.patterns import load

MATCHER = Matcher(load())
LINES = [
    row.split("\t", 3)[3].encode()
    for row in (Path(__file__).parent / "lines.tsv").read_text("utf-8").splitlines()
    if not row.startswith("#")
]


@pytest.mark.parametrize(
    ("expression", "literal"),
    [
        (r"DMA completion timeout (?:on nd\d+ )?for", b"DMA completion timeout"),
        (r"failed to get hbm rea?pairable", b"failed to get hbm re"),
        (r"nd\d+: reset request (?P<r>\d+) failed", b": reset request"),
        (r"\[ND \d+\] HBM", b"] HBM"),
        (r"x{2,3}status[ :=]yes", b"status"),
        (r"(?:a|b(?:c|\)))plain", b"plain"),
    ],
)
def test_anchor(expression: str, literal: bytes) -> None:
    """The anchor of an expression is its longest sure literal, digits apart."""
    assert anchor(expression) == literal


@pytest.mark.parametrize("expression", [r"\d+", r"(?:abcdef|ghijkl)", "abcdef|ghijkl", "abc"])
def test_an_expression_without_an_anchor(expression: str) -> None:
    """An expression without a sure literal is refused, with a remedy."""
    with pytest.raises(ConfigError, match="no literal"):
        anchor(expression, "row")


def test_every_anchor_stands_in_what_its_row_matches() -> None:
    """No line is lost because an anchor is missing in it."""
    for line in LINES:
        for match in MATCHER.match(line):
            own = [anchor(text) for text in match.pattern.match]
            assert any(word in line.translate(None, b"0123456789") for word in own)
