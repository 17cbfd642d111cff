"""Which versions are here, as far as files tell: nothing is asked of a package manager."""

from __future__ import annotations

import platform
import re
from typing import TYPE_CHECKING, Any

from neuron_observer import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from neuron_observer.bundling import Asked
    from neuron_observer.bundling.look import Looked
    from neuron_observer.sources.hostfs import HostFs

_DPKG = "var/lib/dpkg/status"
_DPKG_BYTES = 32 << 20
_OURS = re.compile(
    r"neuron|^libnccom|^libneuronxla|^torch|^jax|^vllm|^transformers|^efa\b|^libfabric"
)
_DIST = re.compile(r"(?P<name>[\w.]+)-(?P<version>[\w.+!]+)\.dist-info")
_LIBRARY = re.compile(r"lib(?P<name>nrt|nccom|nccl-net|ncfw)\.so\.(?P<version>\d[\w.]*)")
_DKMS = re.compile(r"aws-neuronx?-(?P<version>\d[\w.]*)")
_PYTHON = re.compile(r"python3(?:\.\d+)?")
_MOST = 500


def versions(asked: Asked, looked: Looked | None, snapshot: Mapping[str, Any]) -> dict[str, Any]:
    """Ours, Python's, the kernel's, the driver's, of packages around them."""
    found: dict[str, Any] = {
        "neuron_observer": __version__,
        "python": platform.python_version(),
        "instance_type": snapshot["node"]["instance_type"],
        "driver": snapshot["node"]["driver"],
        "kernel": None,
        "distribution": None,
        "packages": [],
    }
    if looked is not None:
        host = looked.host
        found["kernel"] = _text(host, "proc/sys/kernel/osrelease") or (
            platform.release() if asked.machine else None
        )
        release = _text(host, "etc/os-release") or _text(host, "usr/lib/os-release")
        name = re.search(r'^PRETTY_NAME="?([^"\n]+)', release, re.MULTILINE)
        found["distribution"] = name[1] if name else None
        found["packages"] = list(_packages(host))[:_MOST]
    return found


def _text(host: HostFs, path: str) -> str:
    try:
        return host.read(path).decode("utf-8", "replace").strip()
    except OSError:
        return ""


def _packages(host: HostFs) -> Iterator[dict[str, str]]:
    yield from _dpkg(host)
    for folder in ("opt/aws/neuron/lib", "usr/src"):
        pattern = _LIBRARY if folder.startswith("opt") else _DKMS
        for name in _names(host, folder):
            if one := pattern.fullmatch(name):
                library = one.groupdict().get("name", "aws-neuronx-dkms")
                yield {"name": library, "version": one["version"], "from": folder}
    for folder in _site_packages(host):
        for name in _names(host, folder):
            one = _DIST.fullmatch(name)
            if one and _OURS.search(one["name"].lower()):
                yield {"name": one["name"], "version": one["version"], "from": folder}


def _dpkg(host: HostFs) -> Iterator[dict[str, str]]:
    try:
        status = host.read(_DPKG, _DPKG_BYTES).decode("utf-8", "replace")
    except OSError:
        return
    for entry in status.split("\n\n"):
        fields = dict(re.findall(r"^(Package|Version|Status): (.*)$", entry, re.MULTILINE))
        name = fields.get("Package", "")
        if _OURS.search(name) and "installed" in fields.get("Status", "").split():
            yield {"name": name, "version": fields.get("Version", ""), "from": "dpkg"}


def _site_packages(host: HostFs) -> Iterator[str]:
    """Of the system's Python, and of the environments that AWS's images have in /opt."""
    roots = ["usr/lib", "usr/local/lib", *(f"opt/{name}/lib" for name in _names(host, "opt"))]
    for root in roots:
        for name in _names(host, root):
            if _PYTHON.fullmatch(name):
                yield f"{root}/{name}/site-packages"
                yield f"{root}/{name}/dist-packages"


def _names(host: HostFs, folder: str) -> list[str]:
    try:
        return [entry.name for entry in host.entries(folder)]
    except OSError:
        return []
