"""Tables as CSV and JSON: values as they were read, what is missing told apart from zero."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

from neuron_observer.tui.export import as_csv, as_json, write
from neuron_observer.tui.pages import PAGES
from neuron_observer.tui.view import Way
from tests.tui.hosts import still, view_of
from tests.tui.played import feed_of

if TYPE_CHECKING:
    from pathlib import Path


def test_csv_has_what_was_read() -> None:
    """Ids as headings, numbers as they are, nothing where nothing is."""
    view = view_of(still("inf2.48xlarge-2.30.2-worn"))._replace(page="devices")
    rows = list(csv.DictReader(io.StringIO(as_csv(view))))
    assert len(rows) == 12
    assert rows[0]["device"] == "neuron0"
    assert rows[0]["device.hbm.capacity"] == str(32 * 1024**3)
    assert rows[0]["device.thermal.temperature"] == ""


def test_json_tells_why_something_is_missing() -> None:
    """As the API does; sorted, filtered and with the columns as they are looked at."""
    way = Way(
        filter="neuron1", columns=("device.thermal.temperature",), sort="device", falling=False
    )
    view = view_of(still("inf2.48xlarge-2.30.2-worn"))._replace(page="devices", way=way)
    document = json.loads(as_json(view))
    assert [row["device"] for row in document["rows"]] == ["neuron1", "neuron10", "neuron11"]
    assert document["rows"][0]["device.thermal.temperature"]["missing"] == "unsupported"
    assert list(document["columns"]) == ["device", "device.thermal.temperature"]


def test_every_page_can_be_taken_along() -> None:
    """No table has a value that CSV or JSON cannot hold."""
    feed = feed_of("hbm-unrepairable", 80, 8, "trn2.3xlarge")
    for page in PAGES:
        view = view_of(feed)._replace(page=page)
        rows = json.loads(as_json(view))["rows"]
        assert len(list(csv.reader(io.StringIO(as_csv(view))))) == len(rows) + 1


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    """It says why, and nothing is there."""
    view = view_of(still("empty"))
    assert "a name ends with .csv" in write(view, tmp_path / "out.png", 80, 24)
    assert "No such file" in write(view, tmp_path / "no" / "out.csv", 80, 24)
    assert list(tmp_path.iterdir()) == []
