"""Basic authentication: right ones are let in, wrong ones cost time and tell nothing."""

from __future__ import annotations

from base64 import b64encode

import bcrypt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.clock import ManualClock
from neuron_observer.exporters.web.passwords import REMEMBERED, Passwords, credentials


def hashed(password: bytes) -> str:
    """As cheap as bcrypt can be."""
    return bcrypt.hashpw(password, bcrypt.gensalt(4)).decode()


USERS = {"alice": hashed(b"wonderland"), "bob": hashed("pässword:1".encode())}


def basic(user: str, password: str | bytes) -> str:
    """The header."""
    raw = password.encode() if isinstance(password, str) else password
    return "Basic " + b64encode(user.encode() + b":" + raw).decode()


class SlowClock(ManualClock):
    """Each look at it takes a hundredth of a second; it remembers how long was waited."""

    def __init__(self) -> None:
        super().__init__()
        self.waited = 0.0

    def monotonic(self) -> float:
        """Later than before."""
        self.advance(0.01)
        return super().monotonic()

    def wait(self, seconds: float) -> None:
        """Remember."""
        self.waited += seconds


def test_who_may_ask() -> None:
    """Names and passwords as they were hashed, also beyond ASCII and with a colon."""
    passwords = Passwords(USERS, ManualClock())
    assert passwords.check(basic("alice", "wonderland"))
    assert passwords.check(basic("bob", "pässword:1"))
    assert passwords.check(basic("alice", "wonderland").replace("Basic", "bAsIc"))


@pytest.mark.parametrize(
    "header",
    [
        basic("alice", ""),
        basic("alice", "Wonderland"),
        basic("alice", "wonderland "),
        basic("bob", "wonderland"),
        basic("", "wonderland"),
        basic("eve", "wonderland"),
        basic("Alice", "wonderland"),
        basic("alice", b"wonder\0land"),
        basic("alice", b"\xff" * 200),
    ],
)
def test_who_may_not(header: str) -> None:
    """The second time it is known at once."""
    passwords = Passwords(USERS, ManualClock())
    assert passwords.known(header) is None
    assert not passwords.check(header)
    assert passwords.known(header) is False


@pytest.mark.parametrize(
    "header",
    ["", "Basic", "Basic ", "Basic !!!", "Basic YWxpY2U=", "Bearer YTpi", "Basic YTpi YTpi", "ä"],
)
def test_what_is_no_header(header: str) -> None:
    """Refused at once: nothing is computed for it."""
    passwords = Passwords(USERS, ManualClock())
    assert credentials(header) is None
    assert passwords.known(header) is False
    assert not passwords.check(header)


@given(st.text(max_size=30))
def test_any_header_is_answered(header: str) -> None:
    """Nothing is raised."""
    pair = credentials(header)
    assert pair is None or len(pair) == 2


def test_without_users_all_may() -> None:
    """Nobody is asked."""
    assert Passwords({}, ManualClock()).known("") is True


def test_a_right_one_is_checked_once() -> None:
    """Afterwards it is known, and wrong guesses do not push it out."""
    passwords = Passwords(USERS, ManualClock())
    right = basic("alice", "wonderland")
    assert passwords.known(right) is None
    assert passwords.check(right)
    for guess in range(REMEMBERED + 5):
        passwords._wrong[b"%d" % guess] = None
    assert not passwords.check(basic("alice", "a guess"))
    assert passwords.known(right) is True
    assert len(passwords._wrong) == REMEMBERED


def test_whoever_guesses_waits() -> None:
    """As long again as the check took; also for a name that nobody has, which is checked too."""
    for user in ("alice", "nobody"):
        clock = SlowClock()
        assert not Passwords(USERS, clock).check(basic(user, "a guess"))
        assert 0.005 < clock.waited < 0.1
    clock = SlowClock()
    assert Passwords(USERS, clock).check(basic("alice", "wonderland"))
    assert clock.waited == 0


def test_a_name_that_nobody_has_costs_as_much() -> None:
    """The hash that it is held against is a valid one of the highest cost in use, and fits none."""
    passwords = Passwords(
        {**USERS, "carol": bcrypt.hashpw(b"x", bcrypt.gensalt(5)).decode()}, ManualClock()
    )
    nobody = passwords._nobody
    assert nobody.startswith(b"$2b$05$")
    assert bcrypt.checkpw(b"", nobody) is False  # a malformed one would raise
    assert len(nobody) == len(USERS["alice"])


def test_a_long_password_counts_to_its_72nd_byte() -> None:
    """As in htpasswd and exporter-toolkit; newer libraries refuse longer ones."""
    passwords = Passwords({"alice": hashed(b"x" * 72)}, ManualClock())
    assert passwords.check(basic("alice", "x" * 100))
    assert not passwords.check(basic("alice", "x" * 71))


def test_nothing_is_kept_in_clear() -> None:
    """What is remembered is a digest under a key of this process."""
    one, another = Passwords(USERS, ManualClock()), Passwords(USERS, ManualClock())
    for passwords in (one, another):
        passwords.check(basic("alice", "wonderland"))
    assert one._right.keys().isdisjoint(another._right)
    assert b"wonderland" not in b"".join(one._right)
