"""Small hosts that a test makes up: a listing in memory from paths and contents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.sources.listing import Listing, ListingFs, Node, Pass

if TYPE_CHECKING:
    from collections.abc import Mapping

DEVICE = "sys/devices/virtual/neuron_device/neuron0"


def host_of(files: Mapping[str, bytes], links: Mapping[str, str] | None = None) -> ListingFs:
    """A host with these files and links, by path from the root."""
    nodes = {path: Node("file", 0o644, content) for path, content in files.items()}
    nodes |= {path: Node("link", 0o777, target=to) for path, to in (links or {}).items()}
    return ListingFs(Listing({}, [Pass(nodes=nodes)]), "made up")


def changed(host: ListingFs, **contents: bytes) -> ListingFs:
    """The same host with other contents; a keyword is a leaf name, all files of it change."""
    nodes = dict(host.listing.passes[0].nodes)
    for path, node in nodes.items():
        leaf = path.rpartition("/")[2]
        if leaf in contents and node.kind == "file":
            nodes[path] = Node("file", node.mode, contents[leaf])
    return ListingFs(Listing({}, [Pass(nodes=nodes)]), host.root)


def without(host: ListingFs, *prefixes: str) -> ListingFs:
    """The same host without what stands at and below some paths."""
    nodes = {
        path: node
        for path, node in host.listing.passes[0].nodes.items()
        if not any(path == p or path.startswith(f"{p}/") for p in prefixes)
    }
    return ListingFs(Listing({}, [Pass(nodes=nodes)]), host.root)


def overlay(*hosts: ListingFs) -> ListingFs:
    """One host that shows what several show, the later ones' passes after the first's first."""
    merged = Pass(nodes={p: n for host in hosts for p, n in host.listing.passes[0].nodes.items()})
    later = [one for host in hosts for one in host.listing.passes[1:]]
    return ListingFs(Listing(hosts[0].listing.header, [merged, *later]), hosts[0].root)
