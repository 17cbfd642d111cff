"""The page keeps what people wrote around the tables."""

from pathlib import Path

import pytest

from benchmarks.stragglers.report import write


def test_only_what_stands_between_the_markers_is_replaced(tmp_path: Path) -> None:
    """Prose before and after stays."""
    page = tmp_path / "stragglers.md"
    page.write_text("# Before\n<!-- table -->\nold\n<!-- /table -->\n\nAfter\n", encoding="utf-8")
    write(page, "new")
    expected = "# Before\n<!-- table -->\nnew\n<!-- /table -->\n\nAfter\n"
    assert page.read_text(encoding="utf-8") == expected


def test_a_page_that_is_not_there_is_made(tmp_path: Path) -> None:
    """With the markers, so that it can be written again."""
    page = tmp_path / "stragglers.md"
    write(page, "one")
    write(page, "two")
    assert page.read_text(encoding="utf-8") == "<!-- table -->\ntwo\n<!-- /table -->\n"


def test_a_page_without_markers_is_left_alone(tmp_path: Path) -> None:
    """It says so instead."""
    page = tmp_path / "stragglers.md"
    page.write_text("# Mine\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="no <!-- table -->"):
        write(page, "new")
    assert page.read_text(encoding="utf-8") == "# Mine\n"
