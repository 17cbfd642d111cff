"""The configuration: YAML files, `conf.d`, environment and flags into one frozen `Config`.

Strict: what is unknown, of another form, out of range, contradictory or there twice is an error
that names file, line, key and remedy. Where each value comes from is kept.
"""

from __future__ import annotations

from neuron_observer.config.layers import Examined, Loaded, Sources, examine, load, read
from neuron_observer.config.schema import Config

__all__ = ["Config", "Examined", "Loaded", "Sources", "examine", "load", "read"]
