"""A check as JSON: findings/1, with what a check knows beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuron_observer import contract

if TYPE_CHECKING:
    from neuron_observer.checks.verdict import Checked


def document(checked: Checked, code: int, source: str = "direct") -> dict[str, Any]:
    """The findings document; `exit_code` is the one that the command ends with.

    `source`: `direct`, or `daemon` where its last frame is judged.
    What is in shadow stands last, is marked so, and has no part in the verdict.
    """
    found = (*checked.findings, *checked.shadow)
    told = contract.findings_document(checked.verdict, found, checked.coverage)
    scope = checked.scope
    return {
        **told,
        "exit_code": code,
        "reason": checked.reason,
        "scope": {
            "devices": None if scope.devices is None else sorted(scope.devices),
            "told": scope.told,
        },
        "devices": [
            {"index": one.index, "verdict": one.verdict.value, "reason": one.reason}
            for one in checked.devices
        ],
        "inventory": [item._asdict() for item in checked.inventory],
        "seconds": round(checked.seconds, 3),
        "source": source,
    }
