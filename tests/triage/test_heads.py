"""Who wrote a line and when."""

from __future__ import annotations

import json
from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.triage.heads import Head, Wrapped, head, unwrap

MESSAGE = "RX, connection closed by remote peer"


def of(prefix: str) -> Head:
    """The head of a line with this prefix."""
    return head(prefix.encode())


def wrapped(line: bytes) -> Wrapped:
    """What stood in a line of JSON, which must be one."""
    found = unwrap(line)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("prefix", "node"),
    [
        ("", None),
        ("[12345.678901] ", None),
        ("[12345.678901] neuron:x: ", None),
        ("node-b kernel : ", "node-b"),
        ("node-b runtime: ", "node-b"),
        ("trn1-worker-7: ", "trn1-worker-7"),
        ("[ip-10-0-0-2]: ", "ip-10-0-0-2"),
        ("Nov 30 10:00:00 ip-10-0-0-1 kernel: [ 7638.723761] ", "ip-10-0-0-1"),
        ("Nov 30 10:00:00 trn1-7 train[300]: ", "trn1-7"),
        ("2026-11-30T10:00:00.123456+00:00 trn1-7 kernel: ", "trn1-7"),
        ("[pod/worker-3/train] ", "worker-3"),
        ("[rank12]: ", None),
        ("rank-12: ", None),
        ("12: ", None),
        ("[1,5]<stderr>: ", None),
        ("kernel: ", None),
        ("python3: ", None),
        ("nd3: ", None),
        ("libnrt-2: ", None),
    ],
)
def test_node(prefix: str, node: str | None) -> None:
    """A node is named by a syslog, by pdsh and the like, never by a rank or a program."""
    assert of(prefix).node == node


@pytest.mark.parametrize(
    ("prefix", "rank"),
    [
        ("[rank12]: ", 12),
        ("rank 12: ", 12),
        ("[1,12]<stderr>: ", 12),
        ("12: ", 12),
        ("012: 2026-Jan-03 21:00:33.25 1:1 ERROR  ENC:x   ", 12),
        ("12 ", None),
        ("2026-Jan-03 21:00:33.25 12:13 ERROR  ENC:x   ", None),
        ("21:00:33 ", None),
        ("[12.5] ", None),
    ],
)
def test_rank(prefix: str, rank: int | None) -> None:
    """The rank that a launcher puts in front of a line."""
    assert of(prefix).rank == rank


def test_the_runtime_s_prefix() -> None:
    """Time and process of the runtime's own prefix; its length, to leave it out of a quotation."""
    prefix = "2026-Jan-03 21:00:33.250000 13423:13499 ERROR   NRT:nrt_close           "
    found = of(prefix)
    assert found.pid == 13423
    assert found.at == datetime(2026, 1, 3, 21, 0, 33, 250000, timezone.utc).timestamp()
    assert found.length == len(prefix)


def test_mixed_prefixes() -> None:
    """Where lines of processes got mixed, the prefix right before the message counts."""
    one = "2026-Jan-03 21:00:33.25 1:1 ERROR  ENC:x   failed"
    found = of(one + "2026-Jan-03 21:00:34.5 22:23 ERROR  ENC:y  ")
    assert found.pid == 22
    assert found.at == datetime(2026, 1, 3, 21, 0, 34, 500000, timezone.utc).timestamp()


@pytest.mark.parametrize(("prefix", "by_kernel"), [("3,1,5,-;", True), ("12,1,5,-;", False)])
def test_who_wrote_into_the_kernel_log(prefix: str, *, by_kernel: bool) -> None:
    """The facility of a record of /dev/kmsg tells a process from the kernel."""
    assert of(prefix).by_kernel is by_kernel


def test_json_of_the_journal() -> None:
    """A journal's entry tells node, time and process."""
    entry = {
        "MESSAGE": MESSAGE,
        "_HOSTNAME": "trn1-7",
        "_PID": "300",
        "_TRANSPORT": "kernel",
        "__REALTIME_TIMESTAMP": "1796032800000000",
    }
    line = json.dumps(entry).encode()
    told = Head("trn1-7", 1796032800.0, 300, by_kernel=True)
    assert unwrap(line) == Wrapped(MESSAGE.encode(), told)


@pytest.mark.parametrize(
    ("fields", "job"),
    [
        ({"_SYSTEMD_UNIT": "train.service"}, "train.service"),
        ({"_SYSTEMD_UNIT": "docker.service", "CONTAINER_NAME": "worker-3"}, "worker-3"),
        ({}, None),
    ],
)
def test_the_job_of_a_journal_entry(fields: dict[str, str], job: str | None) -> None:
    """The container of an entry, else its unit, is the job."""
    line = json.dumps({"MESSAGE": MESSAGE, **fields}).encode()
    assert wrapped(line).head.job == job


@pytest.mark.parametrize("key", ["log", "message", "msg"])
def test_json_of_a_container(key: str) -> None:
    """The line inside the JSON of a container's log."""
    line = json.dumps({key: MESSAGE, "host": "trn1-7"}).encode()
    assert unwrap(line) == Wrapped(MESSAGE.encode(), Head("trn1-7"))


@pytest.mark.parametrize("line", [b"{", b'{"a": 1}', b"no {json", b'{"log": 3}', b'{"log": "x"'])
def test_what_is_no_json_line(line: bytes) -> None:
    """Anything else is taken as the line it is."""
    assert unwrap(line) is None


@given(st.binary(max_size=200))
def test_heads_are_total(line: bytes) -> None:
    """No bytes make it raise."""
    found = head(line)
    assert found.pid is None or found.pid >= 0
    unwrap(line)


def test_a_head_inside_another() -> None:
    """What the JSON says counts; what it does not say is taken from the message itself."""
    inner = Head(node="a", at=1.0, pid=2, length=9)
    assert inner.within(Head(node="b")) == Head(node="b", at=1.0, pid=2, length=9)
    assert inner.within(Head(pid=7, job="x")) == Head("a", 1.0, 7, job="x", length=9)
