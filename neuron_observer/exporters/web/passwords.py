"""Basic authentication: user names and bcrypt hashes.

A check takes 60 ms of a processor and more, so what it found is remembered, as exporter-toolkit
does: under a keyed digest, not in clear. A name that nobody has is checked too, against a hash that
fits nothing, so that time tells nothing about names. Source: RFC 7617; bcrypt(3).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import secrets
from typing import TYPE_CHECKING

import bcrypt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neuron_observer.clock import Clock

REMEMBERED = 100  # of what fits, and as many of what does not
_SIGNIFICANT = 72  # bytes of a password that bcrypt looks at; htpasswd and Go drop the rest too
_LETTERS = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


class Passwords:
    """Who may ask. `known` is quick, `check` is not: it has a thread of its own."""

    def __init__(self, users: Mapping[str, str], clock: Clock) -> None:
        self._hashes = {name.encode(): text.encode() for name, text in users.items()}
        self._clock = clock
        self._secret = secrets.token_bytes(32)
        self._right: dict[bytes, None] = {}
        self._wrong: dict[bytes, None] = {}
        self._nobody = _fits_nothing(max(map(_cost, users.values()), default=10))

    def known(self, authorization: str) -> bool | None:
        """What the header of a request is worth; None if that must be checked."""
        if not self._hashes:
            return True
        pair = credentials(authorization)
        if pair is None:
            return False
        digest = self._digest(*pair)
        return True if digest in self._right else False if digest in self._wrong else None

    def check(self, authorization: str) -> bool:
        """Compute what it is worth. After a wrong one as much time passes again: whoever guesses
        gets half a processor at most.
        """
        pair = credentials(authorization)
        if pair is None:
            return False
        found = self.known(authorization)
        if found is not None:
            return found
        user, password = pair
        begin = self._clock.monotonic()
        right = _fits(password, self._hashes.get(user, self._nobody)) and user in self._hashes
        _remember(self._right if right else self._wrong, self._digest(user, password))
        if not right:
            self._clock.wait(self._clock.monotonic() - begin)
        return right

    def _digest(self, user: bytes, password: bytes) -> bytes:
        words = b"%d %b%b" % (len(user), user, password)
        return hashlib.blake2b(words, key=self._secret, digest_size=32).digest()


def credentials(authorization: str) -> tuple[bytes, bytes] | None:
    """Name and password of an Authorization header; None if it has none."""
    scheme, _, text = authorization.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        user, colon, password = base64.b64decode(text.strip(), validate=True).partition(b":")
    except (binascii.Error, ValueError):
        return None
    return (user, password) if colon else None


def _fits(password: bytes, hashed: bytes) -> bool:
    try:
        return bcrypt.checkpw(password[:_SIGNIFICANT], hashed)
    except ValueError:  # a zero byte, which some versions refuse
        return False


def _remember(among: dict[bytes, None], digest: bytes) -> None:
    while len(among) >= REMEMBERED:
        del among[next(iter(among))]
    among[digest] = None


def _cost(hashed: str) -> int:
    return int(hashed[4:6])


def _fits_nothing(cost: int) -> bytes:
    salt = "".join(secrets.choice(_LETTERS) for _ in range(21))
    rest = "".join(secrets.choice(_LETTERS) for _ in range(31))
    return f"$2b${cost:02}${salt}.{rest}".encode()
