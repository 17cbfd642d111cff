"""HTTP: the only part that knows how clients are served; see docs/adr/0008-http.md."""

from __future__ import annotations

from neuron_observer.exporters.http.limits import Limits
from neuron_observer.exporters.http.server import Server

__all__ = ["Limits", "Server"]
