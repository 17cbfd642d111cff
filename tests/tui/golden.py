"""The golden frames of `top`; `python -m tests.tui.golden` makes them anew, to be reviewed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from neuron_observer.tui.layout import screen
from neuron_observer.tui.pages import PAGES
from tests.conftest import TREES
from tests.tui.hosts import moving, still, view_of
from tests.tui.played import faulty, feed_of

if TYPE_CHECKING:
    from neuron_observer.tui.view import View

GOLDEN = Path(__file__).parent.parent / "golden" / "top"
SIZES = ((80, 24), (120, 40), (200, 60))
LISTINGS = sorted(path.name.partition(".tsv")[0] for path in TREES.glob("*.tsv*"))
HOSTS = (*LISTINGS, "empty", "moving")
PLAYED = {  # scenario, seconds of it, instance
    "healthy-16": ("healthy", 80, "trn2.48xlarge"),
    "faulty-12": ("sram-error", 80, "inf2.48xlarge"),
    "healthy-12": ("healthy", 80, "inf2.48xlarge"),
    "faulty-1": ("component", 80, "trn2.3xlarge"),
    "healthy-1": ("healthy", 80, "trn2.3xlarge"),
    "none": ("driver-absent", 104, "trn2.3xlarge"),
}
SEVERAL = "faulty-16"  # faults, and a job with a slow rank
CASES = (SEVERAL, *PLAYED)


def frames(name: str) -> dict[str, str]:
    """File name → text of a host at every size."""
    view = view_of(moving() if name == "moving" else still(name))
    return {
        f"{name}-{width}x{height}.txt": "\n".join(screen(view, width, height)) + "\n"
        for width, height in SIZES
    }


def view_in(case: str) -> View:
    """A judged host: how it is and how many devices it has."""
    if case == SEVERAL:
        return faulty()
    scenario, seconds, instance = PLAYED[case]
    return view_of(feed_of(scenario, seconds, 8, instance))


def pages(case: str, width: int, height: int) -> str:
    """Every page of a host in one size, one below the other."""
    view = view_in(case)
    screens = ["\n".join(screen(view._replace(page=page), width, height)) for page in PAGES]
    return f"\n{'=' * width}\n".join(screens) + "\n"


def pages_file(case: str, width: int, height: int) -> Path:
    """Where they stand."""
    return GOLDEN / f"pages-{case}-{width}x{height}.txt"


def main() -> None:
    """Write them all."""
    GOLDEN.mkdir(exist_ok=True)
    for name in HOSTS:
        for file, text in frames(name).items():
            (GOLDEN / file).write_text(text, encoding="utf-8")
    for case in CASES:
        for size in SIZES:
            pages_file(case, *size).write_text(pages(case, *size), encoding="utf-8")


if __name__ == "__main__":
    main()
