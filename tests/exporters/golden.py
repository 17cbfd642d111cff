"""The golden pages: `python -m tests.exporters.golden` writes them anew; read the difference."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer import __version__
from neuron_observer.clock import ManualClock
from neuron_observer.exporters.exposition import Format
from neuron_observer.exporters.page import Page
from neuron_observer.sources.listing import ListingFs, read_listing
from tests.conftest import tree_file
from tests.exporters.feeds import OneFrame, read

if TYPE_CHECKING:
    from neuron_observer.catalogue.spec import Detail


class Golden(NamedTuple):
    """A page of a listing."""

    listing: str
    detail: Detail
    form: Format = Format.TEXT

    @property
    def file(self) -> Path:
        """Where it stands."""
        ending = "openmetrics" if self.form is Format.OPENMETRICS else "prom"
        name = f"metrics-{self.listing}-{self.detail}.{ending}"
        return Path(__file__).parent.parent / "golden" / name

    def page(self, host: ListingFs) -> str:
        """The page of two reads at the minute of the listings, without the program's version."""
        clock = ManualClock(wall=1_788_000_030.0)
        page = Page(OneFrame(read(host, clock)), clock, detail=self.detail)
        text = page.render(self.form).decode()
        ours = f'python="{platform.python_version()}",version="{__version__}"'
        return text.replace(ours, 'python="PYTHON",version="VERSION"')


PAGES = (
    Golden("trn2.48xlarge-2.24.7-idle", "node"),
    Golden("trn1.32xlarge-2.24.7-busy", "device"),
    Golden("inf2.48xlarge-2.30.2-worn", "device"),
    Golden("trn2.3xlarge-2.30.2-busy", "core"),
    Golden("trn2.3xlarge-2.30.2-busy", "core", Format.OPENMETRICS),
)

if __name__ == "__main__":
    for golden in PAGES:
        host = ListingFs(read_listing(str(tree_file(golden.listing))), golden.listing)
        golden.file.write_text(golden.page(host), encoding="utf-8")
