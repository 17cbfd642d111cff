"""A directory tree that can be sick: files that hang, fail, are gone. By FUSE, without a library.

Mirrors a directory, read-only; what a file holds is looked up at each read. A control file has a
line `hang|eio|enodev|gone PREFIX` a fault and is replaced by renaming; prefixes are below the mount
point, `/` is all of it. A descriptor that was open when its file was gone is dead
for ever, as of sysfs.

A read that hangs is simply not answered, so it costs no thread here and stops no other read. Its
reader sleeps uninterruptibly once it has been killed: end this process and it comes free.
Source of the protocol: the kernel's include/uapi/linux/fuse.h, 7.31.
"""

from __future__ import annotations

import errno
import os
import select
import stat
import struct
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.hosts import end_with_parent, mount_fuse, unmount

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DEVICE = Path("/dev/fuse")
_DIRECT_IO = 1  # FOPEN_DIRECT_IO: each read is asked for
_BUFFER = 1 << 17
_LOOK = 0.01  # seconds between two looks at the control file while a read hangs
_ATTRIBUTES = struct.Struct("<6Q10I")
_IN, _OUT = struct.Struct("<IIQQIIII"), struct.Struct("<IiQ")
_READ = struct.Struct("<QQII")
_NAMES = {
    1: "lookup",
    3: "getattr",
    5: "readlink",
    14: "open",
    15: "read",
    17: "statfs",
    18: "done",  # release
    25: "done",  # flush
    26: "init",
    27: "opendir",
    28: "readdir",
    29: "done",  # release of a directory
    34: "done",  # access
}
_UNANSWERED = {2, 36, 42}  # forget, interrupt, several to forget


class _Later(Exception):  # noqa: N818 - no error: the answer comes when the fault is over
    """This is not answered now."""


class SickTree:
    """Answers the kernel until the connection is cut."""

    def __init__(self, source: Path, control: Path, connection: int) -> None:
        self._source, self._control, self._connection = source, control, connection
        self._paths: dict[int, str] = {1: "/"}
        self._numbers: dict[str, int] = {"/": 1}
        self._handles = 0
        self._faults: list[tuple[str, str]] = []
        self._held: list[bytes] = []  # requests whose reads hang
        self._read_at: object = None
        self._died: list[tuple[str, int]] = []  # prefix, and the last handle that died with it

    def serve(self) -> None:
        """Until unmounted."""
        while True:
            if select.select([self._connection], [], [], _LOOK if self._held else None)[0]:
                try:
                    request = os.read(self._connection, _BUFFER)
                except OSError as error:
                    if error.errno == errno.ENODEV:  # unmounted
                        return
                    continue
                self._take(request)
            held, self._held = self._held, []
            for request in held:
                self._take(request)

    def _take(self, request: bytes) -> None:
        self._look()
        _, opcode, unique, node, *_ = _IN.unpack_from(request)
        if opcode in _UNANSWERED:
            return
        error, body = errno.ENOSYS, b""
        if opcode in _NAMES:
            answer: Callable[[str, bytes], bytes] = getattr(self, f"_{_NAMES[opcode]}")
            try:
                error, body = 0, answer(self._paths.get(node, "/"), request[_IN.size :])
            except _Later:
                self._held.append(request)
                return
            except OSError as failure:
                error = failure.errno or errno.EIO
        reply = _OUT.pack(_OUT.size + len(body), -error, unique) + body
        with suppress(OSError):  # the reader was interrupted meanwhile
            os.write(self._connection, reply)

    def _look(self) -> None:
        """Take the faults from the control file if it was replaced."""
        about = self._control.stat()
        if self._read_at == (about.st_ino, about.st_mtime_ns):
            return
        self._read_at = about.st_ino, about.st_mtime_ns
        words = [line.split() for line in self._control.read_text("utf-8").splitlines()]
        before, self._faults = self._faults, [(kind, prefix) for kind, prefix in words]
        for kind, prefix in self._faults:
            if kind == "gone" and (kind, prefix) not in before:
                self._died.append((prefix, self._handles))

    def _fault(self, path: str) -> str:
        found = (kind for kind, prefix in self._faults if _below(path, prefix))
        return next(found, "")

    def _number(self, path: str) -> int:
        if path not in self._numbers:
            self._numbers[path] = len(self._numbers) + 1
            self._paths[self._numbers[path]] = path
        return self._numbers[path]

    def _real(self, path: str) -> Path:
        if path != "/" and self._fault(path) == "gone":
            raise OSError(errno.ENOENT, path)
        return self._source / path.lstrip("/")

    def _about(self, path: str) -> bytes:
        found = self._real(path).lstat()
        size = found.st_size if stat.S_ISLNK(found.st_mode) else 4096
        number = self._number(path)
        return _ATTRIBUTES.pack(
            *(number, size, 8, 0, 0, 0),
            *(0, 0, 0, found.st_mode, found.st_nlink, found.st_uid, found.st_gid, 0, 4096, 0),
        )

    def _init(self, _: str, __: bytes) -> bytes:
        return struct.pack("<IIIIHHIIHHI28x", 7, 31, 4096, 0, 512, 512, 4096, 1, 1, 0, 0)

    def _lookup(self, path: str, body: bytes) -> bytes:
        below = f"{path.rstrip('/')}/{os.fsdecode(body.rstrip(bytes(1)))}"
        about = self._about(below)
        return struct.pack("<QQQQII", self._number(below), 0, 0, 0, 0, 0) + about

    def _getattr(self, path: str, _: bytes) -> bytes:
        return struct.pack("<QII", 0, 0, 0) + self._about(path)

    def _readlink(self, path: str, _: bytes) -> bytes:
        return os.fsencode(self._real(path).readlink())

    def _open(self, path: str, _: bytes) -> bytes:
        if self._fault(path) == "gone":
            raise OSError(errno.ENODEV, path)
        self._handles += 1
        return struct.pack("<QII", self._handles, _DIRECT_IO, 0)

    def _opendir(self, path: str, _: bytes) -> bytes:
        self._real(path).lstat()
        return struct.pack("<QII", 0, 0, 0)

    def _read(self, path: str, body: bytes) -> bytes:
        handle, offset, size, _ = _READ.unpack_from(body)
        fault = self._fault(path)
        if fault == "hang":
            raise _Later
        dead = any(_below(path, prefix) and handle <= last for prefix, last in self._died)
        if dead or fault in ("gone", "enodev"):
            raise OSError(errno.ENODEV, path)
        if fault == "eio":
            raise OSError(errno.EIO, path)
        return self._real(path).read_bytes()[offset : offset + size]

    def _readdir(self, path: str, body: bytes) -> bytes:
        _, offset, size, _ = _READ.unpack_from(body)
        found = b""
        names = sorted(os.listdir(self._real(path)))  # noqa: PTH208 - names only
        for number, name in enumerate(names[offset:], offset + 1):
            below = f"{path.rstrip('/')}/{name}"
            try:
                mode = self._real(below).lstat().st_mode
            except OSError:
                continue
            text = os.fsencode(name)
            entry = struct.pack("<QQII", self._number(below), number, len(text), mode >> 12) + text
            entry += bytes(-len(entry) % 8)
            if len(found) + len(entry) > size:
                break
            found += entry
        return found

    def _statfs(self, _: str, __: bytes) -> bytes:
        return struct.pack("<5Q4I24x", 0, 0, 0, 0, 0, 4096, 255, 4096, 0)

    def _done(self, _: str, __: bytes) -> bytes:
        return b""


def _below(path: str, prefix: str) -> bool:
    return prefix in ("/", path) or path.startswith(f"{prefix.rstrip('/')}/")


class Sickness:
    """The faults of a mounted tree, as whoever mounted it sets them."""

    def __init__(self, control: Path, process: subprocess.Popen[bytes]) -> None:
        self._control = control
        self._process = process

    def set(self, *faults: str) -> None:
        """These and no others: `KIND PREFIX` each."""
        new = self._control.with_suffix(".new")
        new.write_text("".join(f"{fault}\n" for fault in faults), "utf-8")
        new.replace(self._control)

    def end(self) -> None:
        """Whoever still waits for a read gets an error."""
        self._process.kill()
        self._process.wait(5)


@contextmanager
def sick(source: Path, where: Path, control: Path) -> Iterator[Sickness]:
    """A mounted tree whose server is a process of its own, which ends with this one."""
    control.touch()
    where.mkdir(parents=True, exist_ok=True)
    connection = os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC)
    try:
        mount_fuse(where, connection)
        served = (str(source), str(control), str(connection))
        command = [sys.executable, "-m", "benchmarks.sick", *served]
        process = subprocess.Popen(command, pass_fds=[connection])
    finally:
        os.close(connection)  # the server's is the only one: when it ends, all reads do
    found = Sickness(control, process)
    try:
        yield found
    finally:
        found.end()
        with suppress(FileNotFoundError):  # what is above it may have been moved
            unmount(where)


def possible() -> bool:
    """Whether such a tree can be had: root, and a kernel with FUSE."""
    return os.geteuid() == 0 and os.access(DEVICE, os.R_OK | os.W_OK)


def main() -> None:
    """Serve, and end with whoever started us."""
    end_with_parent()
    source, control, connection = sys.argv[1:]
    SickTree(Path(source), Path(control), int(connection)).serve()


if __name__ == "__main__":
    main()
