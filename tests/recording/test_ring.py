from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.recording.ring import Ring
from neuron_observer.recording.tape import Chunk


def ring(window: float, limit: int) -> Ring:
    """A ring whose bases are numbered."""
    made = iter(range(10_000))
    one = Ring(lambda: (b"base %d" % next(made),), window=window, limit=limit)
    one.begin()
    return one


def chunk(number: int, seconds: float = 15.0, size: int = 100) -> Chunk:
    """The chunk of its number."""
    name = b"chunk %d " % number
    return Chunk(name + bytes(size), number * seconds, (number + 1) * seconds - 1, 60)


def test_the_window_is_whole_and_not_much_more() -> None:
    """Fifteen minutes and at most a sixth; the oldest part is a base."""
    one = ring(900.0, 10**9)
    for number in range(200):
        one.take(chunk(number))
    assert 900 - 15 <= one.seconds <= 900 * 7 / 6 + 15
    assert not one.shortened
    assert one.parts()[0].startswith(b"base")
    assert one.parts()[-1].startswith(b"chunk 199 ")


def test_bytes_that_run_out_shorten_the_window() -> None:
    """The limit holds, and it is told."""
    one = ring(900.0, 20_000)
    for number in range(200):
        one.take(chunk(number, size=1000))
    assert one.held <= 20_000
    assert one.shortened
    assert 0 < one.seconds < 900
    assert one.parts()[-1].startswith(b"chunk 199 ")


def test_a_ring_without_a_tick_is_empty() -> None:
    """Nothing is held but what stood."""
    one = ring(900.0, 10**6)
    assert (one.seconds, one.oldest, one.parts()) == (0.0, None, [])


@settings(max_examples=50)
@given(st.lists(st.integers(0, 5000), max_size=60), st.integers(20_000, 60_000))
def test_what_is_held_is_the_end_of_what_came(sizes: list[int], limit: int) -> None:
    """Without a gap, behind a base, within the bytes."""
    one = ring(300.0, limit)
    for number, size in enumerate(sizes):
        one.take(chunk(number, size=size))
    numbers = [int(part.split()[1]) for part in one.parts() if part.startswith(b"chunk")]
    assert numbers == list(range(len(sizes)))[len(sizes) - len(numbers) :]
    assert one.held <= limit
    assert not numbers or one.parts()[0].startswith(b"base")
