"""What the cells of batches are, as a document, and the name by which a client tells it again."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from neuron_observer.model import Layout

ID = r"[0-9a-f]{16}"


class Layouts:
    """The name of the layouts of a frame; each is worked out once for as long as it is there."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Layout, bytes]] = {}

    def id(self, of: Iterable[Layout]) -> str:
        """Sixteen digits, equal for equal layouts."""
        before, self._known = self._known, {}
        whole = blake2b(digest_size=8)
        for one in of:
            held = before.get(id(one)) or (one, _digest(one))
            self._known[id(one)] = held
            whole.update(held[1])
        return whole.hexdigest()


def _digest(of: Layout) -> bytes:
    return blake2b(json.dumps(layout(of)).encode(), digest_size=16).digest()


def layout(of: Layout) -> dict[str, Any]:
    """Metric → places, as [device, core, label], in the order of the cells."""
    return {
        metric: [[place.device, place.core, place.label] for place in column.places]
        for metric, column in of.columns.items()
    }
