"""What the environment says of the terminal. Imports nothing: a quick answer asks it too."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_ASCII_LOCALES = ("C", "POSIX")


def ascii_was_said(environment: Mapping[str, str]) -> bool:
    """Whether somebody said that the locale is C: the terminal need not know more than ASCII.

    Python turns a C locale into UTF-8 on its own (PEP 538, PEP 540); the terminal need not follow.
    """
    said = environment.get("LC_ALL") or _ctype(environment) or environment.get("LANG")
    return said in _ASCII_LOCALES


def _ctype(environment: Mapping[str, str]) -> str | None:
    """LC_CTYPE, unless it is what Python itself sets beside a LANG of C."""
    ctype = environment.get("LC_CTYPE")
    coerced = ctype == "C.UTF-8" and environment.get("LANG") in _ASCII_LOCALES
    return None if coerced else ctype
