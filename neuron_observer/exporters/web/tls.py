"""The server's side of TLS, of the files that a web configuration names.

Source: Python's ssl; Go's crypto/tls ClientAuthType for what the words mean.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.exporters.web.settings import Tls

_VERSIONS = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
_CLIENT = {
    "none": ssl.CERT_NONE,
    "optional": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}
_PAIR = (
    "The certificate (openssl x509 -noout -pubkey -in CERT) and the key (openssl pkey -pubout -in"
    " KEY) must show the same public key."
)
_READABLE = "The daemon's user must be able to read it: see ls -l, and id neuron-observer."


class Secured(NamedTuple):
    """How connections are made secure, and which clients may make one."""

    context: ssl.SSLContext
    allowed_names: frozenset[str]

    def allows(self, connection: ssl.SSLSocket) -> bool:
        """Whether a client's certificate bears a name that is wanted, if one is."""
        if not self.allowed_names:
            return True
        shown = (connection.getpeercert() or {}).get("subjectAltName", ())
        return not self.allowed_names.isdisjoint(str(name[1]) for name in shown)


def secured(tls: Tls) -> Secured:
    """Read certificate, key and authority; `ConfigError` names the file that is wrong."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _VERSIONS[tls.min_version]
    context.maximum_version = _VERSIONS[tls.max_version]
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_CIPHER_SERVER_PREFERENCE
    for file in filter(None, (tls.cert_file, tls.key_file, tls.client_ca_file)):
        _must_be_readable(file)
    try:
        context.load_cert_chain(tls.cert_file, tls.key_file, password=_refuse_to_ask(tls.key_file))
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            message = f"is not the key of the certificate {tls.cert_file}"
            raise ConfigError(message, file=tls.key_file, remedy=_PAIR) from None
        why = f": {error.reason}" if error.reason else ""
        what = f"with its key {tls.key_file} is no PEM pair{why}"
        raise ConfigError(what, file=tls.cert_file, remedy=_PAIR) from None
    _trust(context, tls)
    return Secured(context, tls.client_allowed_sans)


def _trust(context: ssl.SSLContext, tls: Tls) -> None:
    if tls.client_certificate == "none":
        return
    try:
        context.load_verify_locations(tls.client_ca_file or None, cadata=tls.client_ca or None)
    except ssl.SSLError as error:
        message = "holds no PEM certificate" + (f": {error.reason}" if error.reason else "")
        raise ConfigError(message, file=tls.client_ca_file or "client_ca") from None
    context.verify_mode = _CLIENT[tls.client_certificate]


def _must_be_readable(file: str) -> None:
    try:
        with open(file, "rb") as stream:  # noqa: PTH123 - a path as it was written
            stream.read(1)
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
        raise ConfigError(message, file=file, remedy=_READABLE) from None


def _refuse_to_ask(file: str) -> Callable[[], str]:
    """A daemon has nobody to ask; without this OpenSSL would ask on the terminal."""

    def refuse() -> str:
        raise ConfigError(
            "is encrypted, and a daemon has nobody to ask for the password",
            file=file,
            remedy=f"openssl pkey -in {file} -out PLAIN writes it without; then chmod 600 PLAIN.",
        )

    return refuse
