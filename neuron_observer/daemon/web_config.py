"""The web configuration: `web-config.yml` in the form of Prometheus's exporter-toolkit, strictly.

What that form has and we do not is refused by name, with the reason; so is a file with secrets that
every user of the machine may read. Source: exporter-toolkit, docs/web-configuration.md.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from neuron_observer.errors import ConfigError
from neuron_observer.exporters.web.settings import Tls, WebSettings
from neuron_observer.rules.nodes import NodeReader, compose

if TYPE_CHECKING:
    from collections.abc import Mapping

    import yaml

    from neuron_observer.exporters.web.settings import Version

_SECTIONS = ("tls_server_config", "http_server_config", "basic_auth_users")
_TLS = (
    "cert_file",
    "key_file",
    "client_ca_file",
    "client_ca",
    "client_auth_type",
    "client_allowed_sans",
    "min_version",
    "max_version",
    "prefer_server_cipher_suites",
)
_HTTP = ("http2", "headers")
_HEADERS: Mapping[str, tuple[str, ...]] = {
    "Content-Security-Policy": (),
    "Strict-Transport-Security": (),
    "X-Content-Type-Options": ("nosniff",),
    "X-Frame-Options": ("deny", "sameorigin"),
    "X-XSS-Protection": (),
}
_CLIENT: Mapping[str, Literal["none", "optional", "required"]] = {
    "NoClientCert": "none",
    "VerifyClientCertIfGiven": "optional",
    "RequireAndVerifyClientCert": "required",
}
_UNVERIFIED = "a client certificate that nobody verifies proves nothing"
_GO = "it takes Go's names of a list that OpenSSL does not know; the system's policy decides"
_FILES_ONLY = "a key or certificate is read from a file, which can be replaced on its own"
_REFUSED = {
    "cert": _FILES_ONLY,
    "key": _FILES_ONLY,
    "cipher_suites": _GO,
    "curve_preferences": _GO,
    "rate_limit": "requests are bounded by http.connections and answered from the last frame",
    "RequestClientCert": _UNVERIFIED,
    "RequireAnyClientCert": _UNVERIFIED,
    "RequireClientCert": _UNVERIFIED,
    "TLS10": "RFC 8996 forbids it",
    "TLS11": "RFC 8996 forbids it",
}
_HASH = re.compile(r"\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}")
_COSTS = range(4, 15)
_HASH_IT = "htpasswd -nBC 10 '' | tr -d ':\\n' asks for a password and prints its hash."


def load(file: str) -> WebSettings:
    """Read and check a file; `ConfigError` names it, the line and the key."""
    reader = _Reader(file)
    node = compose(Path(file))
    if node is None:
        return WebSettings(file)
    sections = reader.keys(node, "the file", _SECTIONS, ("rate_limit",))
    settings = WebSettings(
        file,
        reader.tls(sections["tls_server_config"]) if "tls_server_config" in sections else None,
        reader.headers(sections.get("http_server_config")),
        reader.users(sections.get("basic_auth_users")),
    )
    if settings.users:
        _must_be_private(file, "password hashes")
    if settings.tls:
        _must_be_private(settings.tls.key_file, "the private key")
    return settings


class _Reader(NodeReader):
    """Sections into settings."""

    def keys(
        self, node: yaml.Node, what: str, known: tuple[str, ...], refused: tuple[str, ...] = ()
    ) -> dict[str, yaml.Node]:
        found = self.mapping(node, what)
        for key in refused:
            if key in found:
                raise self.fail(f"{key} is not supported: {_REFUSED[key]}", found[key])
        self.known(found, known, what)
        return found

    def tls(self, node: yaml.Node) -> Tls:
        refused = ("cert", "key", "cipher_suites", "curve_preferences")
        keys = self.keys(node, "tls_server_config", _TLS, refused)
        for key in ("cert_file", "key_file"):
            if key not in keys:
                raise self.fail(f"tls_server_config needs {key}", node)
        if "prefer_server_cipher_suites" in keys:
            self._must_be(keys["prefer_server_cipher_suites"], "true", "the server's order counts")
        low = self._version(keys.get("min_version"), "TLS12")
        high = self._version(keys.get("max_version"), "TLS13")
        if low > high:
            raise self.fail("max_version is below min_version", keys["min_version"])
        certificate = self._client(keys, node)
        return Tls(
            self._path(keys["cert_file"]),
            self._path(keys["key_file"]),
            self._path(keys["client_ca_file"]) if "client_ca_file" in keys else "",
            self.text(keys["client_ca"], "client_ca") if "client_ca" in keys else "",
            certificate,
            frozenset(self._names(keys.get("client_allowed_sans"), certificate)),
            low,
            high,
        )

    def headers(self, node: yaml.Node | None) -> tuple[tuple[str, str], ...]:
        if node is None:
            return ()
        keys = self.keys(node, "http_server_config", _HTTP)
        if "http2" in keys:
            self._must_be(keys["http2"], "false", "HTTP/2 is not spoken here; clients do without")
        if "headers" not in keys:
            return ()
        found = self.keys(keys["headers"], "headers", tuple(_HEADERS))
        return tuple((name, self._header(name, value)) for name, value in found.items())

    def users(self, node: yaml.Node | None) -> dict[str, str]:
        if node is None:
            return {}
        found = self.mapping(node, "basic_auth_users")
        return {name: self._hash(name, value) for name, value in found.items()}

    def _header(self, name: str, node: yaml.Node) -> str:
        allowed = _HEADERS[name]
        value = self.choice(node, name, allowed) if allowed else self.text(node, name)
        if not value.isprintable() or not value.isascii():
            raise self.fail(f"{name} must be one line of ASCII", node)
        return value

    def _hash(self, name: str, node: yaml.Node) -> str:
        if not name or ":" in name:
            raise self.fail(f"basic_auth_users: {name!r} is no user name (no ':')", node)
        text = self.text(node, f"basic_auth_users: {name}")
        found = _HASH.fullmatch(text)
        if not found:
            what = f"basic_auth_users: the value of {name!r} is no bcrypt hash"
            raise self.fail(what, node, _HASH_IT)
        if int(found[1]) not in _COSTS:
            what = f"basic_auth_users: {name!r} has cost {found[1]}"
            raise self.fail(what, node, "Above 14 one check takes seconds. " + _HASH_IT)
        return text

    def _version(self, node: yaml.Node | None, default: Version) -> Version:
        if node is None:
            return default
        self._refuse(node)
        return "TLS13" if self.choice(node, "version", ("TLS12", "TLS13")) == "TLS13" else "TLS12"

    def _client(
        self, keys: Mapping[str, yaml.Node], section: yaml.Node
    ) -> Literal["none", "optional", "required"]:
        node = keys.get("client_auth_type")
        kind: Literal["none", "optional", "required"] = "none"
        if node is not None:
            self._refuse(node)
            kind = _CLIENT[self.choice(node, "client_auth_type", _CLIENT)]
        authority = "client_ca_file" in keys or "client_ca" in keys
        if "client_ca_file" in keys and "client_ca" in keys:
            raise self.fail("client_ca_file and client_ca exclude each other", section)
        if authority and kind == "none":
            raise self.fail("client_ca is given and no client_auth_type asks for it", section)
        if kind != "none" and not authority:
            raise self.fail(f"{_words(kind)} needs client_ca_file", section)
        return kind

    def _names(self, node: yaml.Node | None, certificate: str) -> tuple[str, ...]:
        if node is None:
            return ()
        if certificate != "required":
            what = "client_allowed_sans needs client_auth_type RequireAndVerifyClientCert"
            raise self.fail(what, node)
        names = tuple(
            self.text(one, "client_allowed_sans")
            for one in self.sequence(node, "client_allowed_sans")
        )
        if not names:
            raise self.fail("client_allowed_sans allows nobody; leave it out to allow all", node)
        return names

    def _path(self, node: yaml.Node) -> str:
        """Relative ones stand beside the file."""
        return str(Path(self.file).parent / self.text(node, "a file"))

    def _must_be(self, node: yaml.Node, value: str, why: str) -> None:
        if self.choice(node, "the value", ("true", "false")) != value:
            raise self.fail(f"only {value} is supported: {why}", node)

    def _refuse(self, node: yaml.Node) -> None:
        value = str(node.value)
        if value in _REFUSED:
            raise self.fail(f"{value} is not supported: {_REFUSED[value]}", node)


def _words(kind: str) -> str:
    return next(name for name, meaning in _CLIENT.items() if meaning == kind)


def _must_be_private(file: str, what: str) -> None:
    """As ssh and PostgreSQL have it: what all may read is no secret. A group may."""
    try:
        mode = os.stat(file).st_mode  # noqa: PTH116 - a path as it was written
    except OSError:
        return  # whoever reads it says so
    if stat.S_IMODE(mode) & 0o007:
        raise ConfigError(
            f"every user of this machine may read {what} (mode {stat.S_IMODE(mode):o})",
            file=file,
            remedy=f"chmod 640 {file}; in a pod: defaultMode: 0440 and fsGroup.",
        )
