"""Mounts as `/proc/PID/mountinfo` lists them. Source: proc(5); the kernel's filesystems/proc."""

from __future__ import annotations

_SEPARATOR = b" - "


def writable_beneath(mountinfo: bytes, path: str) -> bool:
    """Whether the file system that holds a path takes writes, however it is mounted for us.

    The options of a mount are those of one view: a service's sandbox shows it a read-only one of a
    disk that everybody else fills. The last field has those of the file system itself.
    """
    wanted = path.encode()
    best, writable = -1, False
    for line in mountinfo.split(b"\n"):
        mount, _, kind = line.partition(_SEPARATOR)
        fields, last = mount.split(b" "), kind.split(b" ")
        if len(fields) < 6 or len(last) < 3:
            continue
        point = fields[4].rstrip(b"/")
        inside = wanted == point or wanted.startswith(point + b"/")
        if inside and len(point) >= best:  # of several at one place the last hides the others
            best, writable = len(point), b"ro" not in last[2].split(b",")
    return writable
