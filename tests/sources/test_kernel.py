"""The kernel log: the device, syslog(2), a file under another root."""

from __future__ import annotations

import errno
import os
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from neuron_observer.sources.kernel import (
    SYSLOG_ACTION_SIZE_BUFFER,
    KmsgLines,
    SyslogLines,
    klogctl,
    open_kernel_log,
)

if TYPE_CHECKING:
    from collections.abc import Callable

MANY = 1_000_000


class Script:
    """Reads of /dev/kmsg as the kernel would answer them, one after another."""

    def __init__(self, *answers: bytes | int) -> None:
        self.answers = list(answers)

    def __call__(self, _fd: int, _size: int) -> bytes:
        """The next record, or the next error."""
        answer = self.answers.pop(0) if self.answers else errno.EAGAIN
        if isinstance(answer, int):
            raise OSError(answer, os.strerror(answer))
        return answer


def kmsg(read: Callable[[int, int], bytes], tmp_path: Path) -> KmsgLines:
    """A source over scripted reads."""
    path = tmp_path / "kmsg"
    path.touch()
    return KmsgLines(str(path), read)


def test_a_line_written_to_the_kernel_log_is_read(tmp_path: Path) -> None:
    """For real where /dev/kmsg may be written, else through a plain file of the same form."""
    mark = f"neuron-observer test {uuid.uuid4()}"
    real = os.access("/dev/kmsg", os.R_OK | os.W_OK)
    if not real:
        (tmp_path / "dev").mkdir()
    root = "/" if real else str(tmp_path)
    written = f"<11>{mark}\n" if real else f"11,1,2,-;{mark}\n"
    with (Path(root) / "dev/kmsg").open("w") as log:
        log.write(written)
    source = open_kernel_log(root)
    records = source.poll(MANY)
    source.close()
    (found,) = [record for record in records if mark.encode() in record]
    assert found.startswith(b"11,")  # facility user: nobody writes as the kernel
    assert source.error == ""


def test_an_overrun_is_counted_and_passed_over(tmp_path: Path) -> None:
    """EPIPE: the kernel has overwritten records; the read after it goes on with the oldest."""
    source = kmsg(Script(b"6,1,1,-;a\n", errno.EPIPE, b"6,90,2,-;b\n D=1\n", errno.EPIPE), tmp_path)
    assert source.poll(MANY) == [b"6,1,1,-;a", b"6,90,2,-;b\n D=1"]
    assert (source.counts.read, source.counts.overruns, source.error) == (2, 2, "")
    source.close()
    source.close()  # twice does no harm


def test_a_record_too_long_is_counted(tmp_path: Path) -> None:
    """EINVAL: longer than the buffer; the kernel has already moved on."""
    source = kmsg(Script(errno.EINVAL, b"6,2,2,-;b\n"), tmp_path)
    assert source.poll(MANY) == [b"6,2,2,-;b"]
    assert source.counts.cut == 1
    source.close()


def test_another_error_is_told_and_ends_the_poll(tmp_path: Path) -> None:
    """Nothing spins; the next poll tries again."""
    source = kmsg(Script(b"6,1,1,-;a\n", errno.EIO, b"6,2,2,-;b\n"), tmp_path)
    assert source.poll(MANY) == [b"6,1,1,-;a"]
    assert (source.error, source.counts.errors) == ("Input/output error", 1)
    assert source.poll(MANY) == [b"6,2,2,-;b"]
    source.close()
    assert source.poll(MANY) == []


class Ring:
    """syslog(2) over a buffer of `size` bytes."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.text = b""
        self.refused = False

    def __call__(self, action: int, size: int) -> bytes:
        """The size of the buffer, or the end of what was printed."""
        if self.refused:
            raise PermissionError(errno.EPERM, "Operation not permitted")
        if action == SYSLOG_ACTION_SIZE_BUFFER:
            return bytes(self.size)
        return self.text[-size:]


def test_syslog_gives_each_line_once() -> None:
    """The end of the dump before is found in the next one, also after the ring has moved."""
    ring = Ring(20_000)
    source = SyslogLines(ring)
    total: list[bytes] = []
    expected: list[bytes] = []
    for turn in range(60):
        new = [b"<6>[%5d.%06d] line" % (turn, number) for number in range(turn * 5)]
        ring.text += b"".join(line + b"\n" for line in new)
        expected += new
        total += source.poll(MANY)
    assert total == expected
    assert source.counts.overruns == 0


def test_syslog_lapped_is_an_overrun() -> None:
    """When nothing of the dump before is left, lines may be lost, and it is said."""
    ring = Ring(5000)
    source = SyslogLines(ring)
    ring.text = b"<6>[    1.000000] old\n" * 300
    source.poll(MANY)
    ring.text += b"<6>[    2.000000] new\n" * 300
    assert set(source.poll(MANY)) >= {b"<6>[    2.000000] new"}
    assert source.counts.overruns == 1


def test_syslog_refused_is_told() -> None:
    """Without CAP_SYSLOG the source stays and says why it is empty."""
    ring = Ring(5000)
    ring.refused = True
    source = SyslogLines(ring)
    assert source.poll(MANY) == []
    assert (source.error, source.counts.errors) == ("Operation not permitted", 1)
    ring.refused, ring.text = False, b"<6>[    1.000000] x\n"
    assert source.poll(MANY) == [b"<6>[    1.000000] x"]
    assert source.error == ""
    source.close()
    assert source.poll(MANY) == []


def test_the_real_call_answers_or_is_refused() -> None:
    """syslog(2) of this kernel: its whole buffer, or EPERM."""
    source = SyslogLines()
    lines = source.poll(MANY)
    assert all(line.startswith(b"<") for line in lines)
    assert bool(source.error) != bool(lines)


@pytest.mark.parametrize("action", [2, 4, 5, 6, 7, 8])
def test_actions_that_change_something_are_refused(action: int) -> None:
    """Consuming, clearing and console levels are not for us."""
    with pytest.raises(ValueError, match="change nothing"):
        klogctl(action, 0)


def test_another_root_has_its_own_log(tmp_path: Path) -> None:
    """A plain file below the root, also one that comes later; never this machine's kernel."""
    source = open_kernel_log(str(tmp_path))
    assert source.name == str(tmp_path / "dev/kmsg")
    assert source.poll(MANY) == []
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/kmsg").write_bytes(b"3,1,2,-;text\n")
    assert source.poll(MANY) == [b"3,1,2,-;text"]
    source.close()
