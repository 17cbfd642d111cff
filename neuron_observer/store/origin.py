"""On which machine, in which boot, under which load of the driver something was kept.

The instance is DMI's board asset tag, as EC2 fills it in. A boot has its id. A load of the driver
is told by the number of the module's directory: sysfs numbers its directories in turn (Linux
fs/kernfs, `kernfs_ino`), so one that is made anew has another; its times are no help, the kernel
sets them anew whenever it has forgotten the inode. `None` is unknown, and equal to nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.collectors.topology import CLASS_FOLDER, DMI_FOLDER, MODULE_FOLDER

if TYPE_CHECKING:
    from neuron_observer.sources.hostfs import HostFs

_BOOT_ID = "proc/sys/kernel/random/boot_id"
_INSTANCE = re.compile(r"i-[0-9a-f]{8,17}")


class Origin(NamedTuple):
    """Where and when."""

    instance: str | None = None
    boot: str | None = None
    load: str | None = None  # of the driver

    def is_other_machine(self, before: Origin) -> bool:
        """Whether what was kept belongs to another machine for certain."""
        both = self.instance and before.instance
        return bool(both) and self.instance != before.instance

    def is_same_boot(self, before: Origin) -> bool:
        """Whether it was kept in this boot for certain."""
        return self.boot is not None and self.boot == before.boot

    def is_other_boot(self, before: Origin) -> bool:
        """Whether it was kept in another boot for certain."""
        return bool(self.boot and before.boot) and self.boot != before.boot

    def is_other_load(self, before: Origin) -> bool:
        """Whether the driver was loaded since for certain."""
        if self.is_other_boot(before):
            return True
        return bool(self.load and before.load) and self.load != before.load


def origin_of(host: HostFs) -> Origin:
    """Of a host, now."""
    tag = _first_word(host, f"{DMI_FOLDER}/board_asset_tag")
    return Origin(
        tag if tag and _INSTANCE.fullmatch(tag) else None,
        _first_word(host, _BOOT_ID),
        load_of(host),
    )


def load_of(host: HostFs) -> str | None:
    """Of the driver as it is loaded now; None if there is none or that cannot be told."""
    version = _first_word(host, f"{MODULE_FOLDER}/version")
    for folder in (MODULE_FOLDER, CLASS_FOLDER):
        try:
            number = host.lstat(folder).st_ino
        except OSError:
            continue
        if number:
            return f"{version or 'unknown'} {folder.rpartition('/')[2]} {number}"
    return None


def _first_word(host: HostFs, path: str) -> str | None:
    try:
        words = host.read(path).decode("ascii", "replace").split()
    except OSError:
        return None
    return words[0] if words else None
