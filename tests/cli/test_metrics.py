"""`metrics`: the catalogue and what of it is here."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from neuron_observer.catalogue import METRICS
from tests.conftest import tree_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Result

OLD = str(tree_file("trn1.32xlarge-2.24.7-busy"))


def test_every_row_is_listed(call: Callable[..., Result]) -> None:
    """One line a metric, with since and live."""
    lines = call("metrics", "--host-root", OLD).out.splitlines()[1:]
    assert [line.split()[0] for line in lines] == list(METRICS)
    status = next(line for line in lines if line.startswith("core.execution.success "))
    assert "2.30.2" in status
    assert "32/32" in status


def test_missing_only(call: Callable[..., Result]) -> None:
    """Only what this host does not give, with the reason."""
    out = call("metrics", "--missing", "--host-root", OLD).out
    assert "device.health.heartbeat" in out
    assert "Trainium1 does not have it" in out
    assert "core.execution.success" not in out


def test_json(call: Callable[..., Result]) -> None:
    """Each row with its sources and the count of places."""
    rows = {
        row["id"]: row
        for row in json.loads(call("metrics", "--format", "json", "--host-root", OLD).out)
    }
    ecc = rows["device.hbm.ecc_uncorrected"]
    assert ecc["prometheus"] == "neuron_device_ecc_errors_total"
    assert ecc["labels"] == {"memory": "hbm", "error": "uncorrected"}
    assert (ecc["values"], ecc["places"]) == (16, 16)
    assert ecc["sources"][0]["path"] == "stats/hardware/mem_ecc_uncorrected"


def test_host_without_neuron(tmp_path: Path, call: Callable[..., Result]) -> None:
    """The catalogue can be read anywhere."""
    assert call("metrics", "--host-root", str(tmp_path)).code == 0
