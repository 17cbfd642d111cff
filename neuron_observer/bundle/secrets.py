"""Secrets in text: passwords, tokens and keys are masked whatever else is redacted. Pure.

Told by the name before the value, or by the value's own form. What is masked is gone, not renamed:
nobody needs to follow a password.
"""

from __future__ import annotations

import re
from typing import Final

MASK: Final = "***"

_NAME: Final = (
    r"[\w.-]*(?:secret|passw(?:or)?d|passwd|passphrase|api[_-]?key|access[_-]?key|private[_-]?key"
    r"|credential|signature|(?:auth|access|session|security|refresh|id|bearer|hub|hf|api|user|web"
    r"|bot|deploy|personal)[_-]?token|authorization)[\w.-]*|(?:[\w.-]*[_-])?token|pwd"
)
_WORD: Final = r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"',;&|)}\]]+)"""
_FORMS: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (
        re.compile(
            r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)",
            re.DOTALL,
        ),
        MASK,
    ),
    (re.compile(r"(?<=://)[^/@\s\"']+(?=@)"), MASK),
    (re.compile(r"(?i)\b(bearer|basic|negotiate)( +)[A-Za-z0-9+/=_.~-]{8,}"), rf"\1\2{MASK}"),
    (
        re.compile(
            rf"(?i)(?<![A-Za-z0-9])({_NAME})([\"']?\s*[=:]\s*)(?!\*\*\*)(?:bearer +|basic +)?"
            rf"{_WORD}"
        ),
        rf"\1\2{MASK}",
    ),
    (re.compile(rf"(?i)((?<![\w-])--?(?:{_NAME}))(\s+)(?![-*]){_WORD}"), rf"\1\2{MASK}"),
    (re.compile(r"\b(?:AKIA|ASIA|AGPA|AROA|AIDA)[A-Z0-9]{16}\b"), MASK),
    (re.compile(r"\b(?:hf_|sk-|gh[pousr]_|github_pat_|glpat-|xox[abpr]-)[A-Za-z0-9_-]{8,}"), MASK),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"), MASK),
    (re.compile(r"\$2[abxy]?\$\d\d\$[./A-Za-z0-9]{53}"), MASK),  # bcrypt, as in a web configuration
    (re.compile(r"\$[156y]\$[./A-Za-z0-9$=,]{20,}"), MASK),  # crypt(5)
)
# forty signs of base64, as a secret access key has them; a hash in hex is none
_FORTY: Final = re.compile(r"(?<![A-Za-z0-9+/=_.-])[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/=_-])")


_NAMED: Final = re.compile(_NAME, re.IGNORECASE)


def is_secret(field: str) -> bool:
    """Whether a field of this name holds a secret."""
    return _NAMED.fullmatch(field) is not None


def masked(text: str) -> str:
    """The text without what looks like a secret."""
    for pattern, to in _FORMS:
        text = pattern.sub(to, text)
    return _FORTY.sub(_key, text)


def _key(found: re.Match[str]) -> str:
    word = found[0]
    mixed = (
        any(sign.isdigit() for sign in word)
        and any(sign.isupper() for sign in word)
        and any(sign.islower() for sign in word)
    )
    return MASK if mixed and word.count("/") < 5 else word
