"""What a program may do where it runs, as JSON: started in the service's own sandbox.

A file by itself, of the standard library, because the sandbox's interpreter knows no benchmarks.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import resource
import socket
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# x86_64 and aarch64; asm/unistd.h
CALLS = {
    "io_setup": (206, 0),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "io_uring_setup": (425, 425),
    "unshare": (272, 97),
    "mount": (165, 40),
}
_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "io_setup": (8, ctypes.byref(ctypes.c_ulong(0))),
    "ptrace": (16, 1, 0, 0),  # PTRACE_ATTACH
    "process_vm_readv": (os.getpid(), 0, 0, 0, 0, 0),
    "io_uring_setup": (1, ctypes.create_string_buffer(256)),
    "unshare": (0x10000000,),  # CLONE_NEWUSER
    "mount": (b"none", b"/mnt", b"tmpfs", 0, 0),
}
FOLDERS = (
    *("/", "/etc", "/etc/neuron-observer", "/opt/neuron-observer", "/usr", "/var/log", "/var/lib"),
    *("/run", "/run/neuron-observer", "/run/neuron-observer-ranks", "/dev", "/home", "/sys"),
    *("/dev/shm", "/tmp", "/var/tmp"),  # noqa: S108 - to see whether they can be written
    *("/sys/class", "/proc/sys/kernel", "/var/lib/neuron-observer"),
)
FILES = (
    *("/dev/kmsg", "/dev/neuron0", "/proc/meminfo", "/proc/stat", "/proc/1/comm", "/proc/2/comm"),
    *("/proc/kallsyms", "/etc/shadow", "/root/.profile"),
)
FAMILIES = ("AF_UNIX", "AF_INET", "AF_INET6", "AF_NETLINK", "AF_PACKET")


def attempt(work: Callable[[], object]) -> str:
    """Whether it could be done: "ok", or the name of the error."""
    try:
        work()
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, "?")
    return "ok"


def write_into(folder: str) -> None:
    """Make a file and remove it."""
    path = Path(folder, "neuron-observer-probe")
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    path.unlink()


def read(path: str) -> None:
    """Open it."""
    os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))


def connectable(family: str) -> None:
    """Make a socket."""
    socket.socket(getattr(socket, family)).close()


def call(name: str) -> None:
    """A system call."""
    number = CALLS[name][os.uname().machine == "aarch64"]
    if ctypes.CDLL(None, use_errno=True).syscall(number, *_ARGUMENTS[name]) < 0:
        raise OSError(ctypes.get_errno(), name)


def main() -> None:
    """Try all of it."""

    def each(work: Callable[[str], object], names: Iterable[str]) -> dict[str, str]:
        return {name: attempt(partial(work, name)) for name in names}

    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    found = {
        "write": each(write_into, FOLDERS),
        "read": each(read, FILES),
        "socket": each(connectable, FAMILIES),
        "call": each(call, CALLS),
        "seen": sum(path.name.isdigit() for path in Path("/proc").iterdir()),
        "node": attempt(Path("/dev/neuron0").stat),
        "capabilities": int(status["CapEff"], 16),
        "no_new_privileges": status["NoNewPrivs"].strip(),
        "descriptors": resource.getrlimit(resource.RLIMIT_NOFILE)[1],
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "user": os.getuid(),
    }
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
