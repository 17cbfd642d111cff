"""The table of all kinds of fault, as `simulate --faults` and the documentation have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.sim.faults import FAULTS

if TYPE_CHECKING:
    from neuron_observer.sim.faults.kind import Parameter


def fault_table() -> str:
    """Markdown: a row a kind, with its place, its parameters and their defaults."""
    rows = ["| fault | of a | what happens | parameters |", "|---|---|---|---|"]
    for kind in FAULTS.values():
        ends = "" if kind.ends else " Does not end."
        parameters = "; ".join(map(_parameter, kind.parameters)) or "—"
        rows.append(f"| `{kind.name}` | {kind.scope} | {kind.help}{ends} | {parameters} |")
    return "\n".join(rows) + "\n"


def _parameter(one: Parameter) -> str:
    default = str(one.default).lower() if isinstance(one.default, bool) else f"{one.default}"
    text = f"`{one.name}` {one.help}"
    if one.choices:
        text += ": " + ", ".join(f"`{name}`" for name in one.choices)
    return f"{text} ({default})" if default else text
