"""What a stream says to a client: in order, never waiting, and not without end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.exporters.http.outlet import Outlet


def test_in_order() -> None:
    """Everything sent is taken once, and the server is woken for each."""
    woken: list[int] = []
    outlet = Outlet(100, lambda: woken.append(1))
    outlet.send(b"a")
    outlet.send(b"b")
    assert outlet.take() == [b"a", b"b"]
    assert outlet.take() == []
    assert len(woken) == 2


@given(st.lists(st.binary(max_size=20), max_size=20), st.integers(0, 60))
def test_never_more_than_the_limit(messages: list[bytes], most: int) -> None:
    """What is held fits the limit; from the first message that does not, nothing more is held."""
    outlet = Outlet(most, lambda: None)
    held = 0
    for message in messages:
        outlet.send(message)
        if held + len(message) > most:
            break
        held += len(message)
    assert sum(map(len, outlet.take())) == held
    assert outlet.full == (sum(map(len, messages)) > most)


def test_what_left_makes_room() -> None:
    """A client that takes what it gets may have any amount in all."""
    outlet = Outlet(10, lambda: None)
    for _ in range(100):
        outlet.send(b"x" * 10)
        assert outlet.take() == [b"x" * 10]
        outlet.left(10)
    assert not outlet.full
    outlet.send(b"x" * 10)
    outlet.take()
    outlet.send(b"y")  # the first ten are on their way still
    assert outlet.full


def test_nobody_hears_it() -> None:
    """After the end nothing is held and nobody is woken."""
    woken: list[int] = []
    outlet = Outlet(100, lambda: woken.append(1))
    outlet.send(b"a")
    outlet.close()
    outlet.send(b"b")
    assert outlet.take() == []
    assert len(woken) == 1
