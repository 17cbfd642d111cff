"""The truth does not know the detector."""

import ast
from pathlib import Path

import benchmarks.stragglers

FEEDERS = {"ours.py", "stops.py", "traces.py"}


def test_only_the_feeders_import_the_detector() -> None:
    """Simulator, rivals and scorer import nothing of `neuron_observer.stragglers`."""
    folder = Path(benchmarks.stragglers.__file__).parent
    users = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            module = node.module if isinstance(node, ast.ImportFrom) else None
            if (module or "").startswith("neuron_observer.stragglers"):
                users.add(path.name)
    assert users == FEEDERS
