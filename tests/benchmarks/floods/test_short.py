"""Short floods of some kinds: the daemon stays itself. The figures are the benchmark's own."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from benchmarks.floods.__main__ import main
from benchmarks.floods.clients import KINDS, fuzzed
from tests.conftest import tree_file

if TYPE_CHECKING:
    import pytest

KINDS_HERE = ("slow readers", "large headers", "fuzz", "half-open TLS", "passwords")
SMALL = str(tree_file("trn2.3xlarge-2.30.2-busy"))


def test_floods(capsys: pytest.CaptureFixture[str]) -> None:
    """After each the daemon answers within a second, and holds no more than it did."""
    main([*KINDS_HERE, "--host", SMALL, "--seconds", "0.3", "--clients", "60", "--quiet", "0.1"])
    said = capsys.readouterr().out
    for kind in KINDS_HERE:
        _, found, rest = said.partition(f"\n{kind}: 60 clients, ")
        assert found, kind
        lines = rest.splitlines()[:4]
        assert lines[2].startswith("    memory: ")
        assert lines[2].endswith("goal 20: met"), f"{kind}: {lines}"
        assert lines[3].endswith("goal 1: met"), f"{kind}: {lines}"


def test_fuzzed_requests_differ() -> None:
    """Else a flood of them would be one request."""
    rng = random.Random(1)  # noqa: S311 - of a test
    found = {fuzzed(rng) for _ in range(50)}
    assert len(found) == 50
    assert all(kind.greeting or kind.fuzz or kind.reads for kind in KINDS.values())
