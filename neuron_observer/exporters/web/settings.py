"""What a web configuration says, in the words of Prometheus's exporter-toolkit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

Version = Literal["TLS12", "TLS13"]


class Tls(NamedTuple):
    """`tls_server_config`; a client must show a certificate (`required`), may, or is not asked."""

    cert_file: str
    key_file: str
    client_ca_file: str = ""
    client_ca: str = ""  # PEM text
    client_certificate: Literal["none", "optional", "required"] = "none"
    client_allowed_sans: frozenset[str] = frozenset()  # empty: any that the CA signed
    min_version: Version = "TLS12"
    max_version: Version = "TLS13"


@dataclass(frozen=True, slots=True)
class WebSettings:
    """The whole file."""

    file: str
    tls: Tls | None = None
    headers: tuple[tuple[str, str], ...] = ()
    users: Mapping[str, str] = field(default_factory=dict, repr=False)  # name → bcrypt hash

    def files(self) -> tuple[str, ...]:
        """All files that this rests on."""
        tls = self.tls
        named = (tls.cert_file, tls.key_file, tls.client_ca_file) if tls else ()
        return (self.file, *filter(None, named))
