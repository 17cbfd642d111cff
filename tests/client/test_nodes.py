"""Nodes side by side: of each a glance, of an opened one its frames; a dead one hurts nobody."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from neuron_observer.client import Client
from neuron_observer.client.address import parse
from neuron_observer.client.nodes import PERIOD, ConnectedNode
from neuron_observer.client.polling import LONGEST_PAUSE
from neuron_observer.clock import ManualClock, SystemClock
from neuron_observer.model import Verdict
from tests.client.servers import answer, answering, saying
from tests.daemon.daemons import Simulated, faulty

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CLOCK = SystemClock()


def until(ready: Callable[[], object]) -> None:
    """Wait until something is so, ten seconds at most."""
    end = CLOCK.monotonic() + 10.0
    while not ready():
        assert CLOCK.monotonic() < end
        CLOCK.wait(0.005)


def test_a_glance(tmp_path: Path) -> None:
    """Verdict, findings and age, on the clock of here; no more is asked for."""
    clock = ManualClock(monotonic=50.0)
    with answering(faulty().answers, tmp_path) as client:
        node = ConnectedNode(client, clock)
        assert node.glance() == (node.name, None, None, (), 0.0, "", 0.0)
        node.poll()
    glance = node.glance()
    assert glance.health
    assert glance.health.verdict is Verdict.UNHEALTHY
    assert "sram-uncorrectable" in {one.id for one in glance.findings}
    assert glance.instance_type == "trn2.3xlarge"
    assert glance.at == pytest.approx(50.0, abs=0.1)


def test_the_same_frame_is_not_sent_again(tmp_path: Path) -> None:
    """And what is known stays, also when the node is gone: with the reason and the next try."""
    clock = ManualClock()
    with answering(faulty().answers, tmp_path) as client:
        node = ConnectedNode(client, clock)
        node.look()
        first = node.glance()
        node.look()
        assert node.glance() == first
    for _ in range(8):
        node.look()
    lost = node.glance()
    assert lost.problem == "no daemon listens there"
    assert lost.again == clock.monotonic() + LONGEST_PAUSE
    assert lost.health == first.health
    (tmp_path / "o.sock").unlink()
    with answering(faulty().answers, tmp_path):
        node.look()
        assert node.glance().problem == ""


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("http://node7:9744", "node7"),
        ("https://n1.example:443/x", "n1.example:443/x"),
        ("http://[::1]:9744", "[::1]"),
        ("unix:///run/o.sock", "/run/o.sock"),
    ],
)
def test_names(url: str, name: str) -> None:
    """As short as tells them apart."""
    assert ConnectedNode(Client(parse(url)), ManualClock()).name == name


@pytest.mark.parametrize(
    "body", [b"{}", b'{"schema": "neuron-observer/findings/1"}', b'{"schema": "x/2"}', b"[", b"7"]
)
def test_an_answer_that_is_none(body: bytes) -> None:
    """It is told, in a line; the thread goes on."""
    with saying(answer(body)) as (address, _):
        node = ConnectedNode(Client(address), ManualClock())
        node.look()
    assert node.glance().problem
    assert "\n" not in node.glance().problem


def test_another_version_is_told() -> None:
    """What to do about it is for people to read: which is older they know."""
    with saying(answer(b'{"schema": "neuron-observer/findings/2"}')) as (address, _):
        node = ConnectedNode(Client(address), ManualClock())
        node.look()
    assert node.glance().problem == (
        "speaks neuron-observer/findings/2, here neuron-observer/findings/1 is known"
    )


def test_one_that_hangs_keeps_nobody_waiting(tmp_path: Path) -> None:
    """Each has a thread of its own, and closing waits for none."""
    with answering(faulty().answers, tmp_path) as client, saying(hold=threading.Event()) as (at, _):
        nodes = [ConnectedNode(one, CLOCK) for one in (Client(at, patience=5.0), client)]
        for node in nodes:
            node.start()
        until(lambda: nodes[1].glance().health)
        assert nodes[0].glance().health is None
        begin = CLOCK.monotonic()
        for node in nodes:
            node.close()
        assert CLOCK.monotonic() - begin < PERIOD


def test_frames_while_somebody_looks(tmp_path: Path) -> None:
    """Opened, it gives frames; left, it asks for no more; opened again it begins anew."""
    made = Simulated()
    with answering(made.answers, tmp_path) as client:
        node = ConnectedNode(client, CLOCK)
        feed = node.open()
        assert node.open() is feed
        until(feed.latest)
        node.leave()
        again = node.open()
        assert again is not feed
        until(again.latest)
        node.close()
    made.close()
