"""Certificates that a test makes up, by the program `openssl`."""

from __future__ import annotations

import atexit
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

_CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


class Pair(NamedTuple):
    """A certificate and its key, PEM files."""

    certificate: Path
    key: Path


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


def make_pair(folder: Path, name: str, *, signed_by: Pair | None = None) -> Pair:
    """A pair whose certificate is for `name` and 127.0.0.1; of its own, or signed."""
    pair = Pair(folder / f"{name}.crt", folder / f"{name}.key")
    extensions = ("-addext", f"subjectAltName=DNS:{name},IP:127.0.0.1")
    by = ("-CA", signed_by.certificate, "-CAkey", signed_by.key) if signed_by else ()
    names = ("-keyout", pair.key, "-out", pair.certificate, "-subj", f"/CN={name}")
    _openssl("req", "-x509", *_CURVE, *names, *extensions, *by, "-days", "2")
    pair.key.chmod(0o600)
    return pair


@cache
def made() -> dict[str, Pair]:
    """Pairs for tests that only read them: two of servers, an authority, and a client of it."""
    held = TemporaryDirectory()
    atexit.register(held.cleanup)
    folder = Path(held.name)
    found = {name: make_pair(folder, name) for name in ("server", "another", "authority")}
    found["client"] = make_pair(folder, "client", signed_by=found["authority"])
    return found
