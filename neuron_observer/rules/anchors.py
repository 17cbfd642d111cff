"""Anchors: a literal that every line of a pattern holds, and one expression for any of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from neuron_observer.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

_ANCHOR_MIN = 4
_GATE_MIN = 10  # a shorter word stops the search at too many lines
# capitals are rare in a log, then what English uses seldom; signs stand in every time stamp
_RARE = b"ABCDEFGHIJKLMNOPQRSTUVWXYZzqxjkvbwgypfmucdlhrsnioate_"
_ESCAPED = re.compile(r"\\[^\w\s]")
_QUANTIFIER = re.compile(r"[*?+]\??|\{\d*,?\d*\}\??")


def anchor(expression: str, row: str = "") -> bytes:
    """A run of plain characters, digits apart, that any text it matches must hold; the best one."""
    runs, run, at = [""], "", 0
    while at < len(expression):
        escaped = _ESCAPED.match(expression, at)
        character = expression[at]
        if character == "|":
            runs, run = [""], ""
            break
        if character in "([":
            at = _closing(expression, at)
            runs, run = [*runs, run], ""
        elif escaped or (character not in "\\^$.*?+{}" and not character.isdigit()):
            at += 2 if escaped else 1
            quantifier = _QUANTIFIER.match(expression, at)
            if quantifier and not quantifier[0].startswith("+"):
                runs, run = [*runs, run], ""
            else:
                run += escaped[0][1] if escaped else character
            if quantifier:
                runs, run, at = [*runs, run], "", quantifier.end()
        else:
            at += 2 if character == "\\" else 1
            runs, run = [*runs, run], ""
    best = max((text.strip() for text in (*runs, run)), key=_worth)
    if len(best) < _ANCHOR_MIN:
        raise ConfigError(
            f"no literal of {_ANCHOR_MIN} characters stands in every match of {expression!r}",
            file=f"pattern {row}",
            remedy="give the alternatives as a list of expressions",
        )
    return best.encode("ascii")


def _worth(literal: str) -> tuple[bool, int]:
    """How well a literal tells its lines from others: long, and not of common letters only."""
    return len(literal) >= _ANCHOR_MIN, len(literal) + sum(not c.islower() for c in literal)


def _closing(expression: str, at: int) -> int:
    """The place behind a group or a class, its quantifier included."""
    if expression[at] == "[":
        end = expression.index("]", at + 2) + 1
    else:
        depth, end = 0, at
        while True:
            if expression[end] == "\\":
                end += 1
            elif expression[end] == "[":
                end = expression.index("]", end + 2)
            elif expression[end] in "()":
                depth += 1 if expression[end] == "(" else -1
            end += 1
            if not depth:
                break
    quantifier = _QUANTIFIER.match(expression, end)
    return quantifier.end() if quantifier else end


def rarest(word: bytes) -> bytes:
    """The tail of an anchor from its rarest character on: it stops a search least often."""
    starts = range(max(1, len(word) - _GATE_MIN + 1))
    return word[min(starts, key=lambda at: (_RARE.find(word[at]) % 256, at)) :]


def trie(words: Iterable[bytes]) -> bytes:
    """One expression for any of the words, without two branches that begin alike."""
    heads: dict[bytes, list[bytes]] = {}
    for word in sorted(words):
        heads.setdefault(word[:1], []).append(word[1:])
    branches = []
    for head, tails in heads.items():
        if not head:
            return b""  # a shorter word ends here and matches whatever follows
        branches.append(re.escape(head) + trie(tails))
    return branches[0] if len(branches) == 1 else b"(?:" + b"|".join(branches) + b")"
