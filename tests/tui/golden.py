"""The golden frames of `top`; `python -m tests.tui.golden` makes them anew, to be reviewed."""

from __future__ import annotations

from pathlib import Path

from neuron_observer.tui.layout import screen
from neuron_observer.tui.pages import PAGES
from tests.conftest import TREES
from tests.tui.hosts import moving, still, view_of
from tests.tui.played import faulty

GOLDEN = Path(__file__).parent.parent / "golden" / "top"
SIZES = ((80, 24), (120, 40), (200, 60))
LISTINGS = sorted(path.name.partition(".tsv")[0] for path in TREES.glob("*.tsv*"))
HOSTS = (*LISTINGS, "empty", "moving")


def frames(name: str) -> dict[str, str]:
    """File name → text of a host at every size."""
    view = view_of(moving() if name == "moving" else still(name))
    return {
        f"{name}-{width}x{height}.txt": "\n".join(screen(view, width, height)) + "\n"
        for width, height in SIZES
    }


def pages(width: int, height: int) -> str:
    """Every page of a faulty trn2.48xlarge in one size, one below the other."""
    view = faulty()
    screens = ["\n".join(screen(view._replace(page=page), width, height)) for page in PAGES]
    return f"\n{'=' * width}\n".join(screens) + "\n"


def main() -> None:
    """Write them all."""
    GOLDEN.mkdir(exist_ok=True)
    for name in HOSTS:
        for file, text in frames(name).items():
            (GOLDEN / file).write_text(text, encoding="utf-8")
    for width, height in SIZES:
        text = pages(width, height)
        (GOLDEN / f"pages-{width}x{height}.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
