"""The web configuration: the form of exporter-toolkit, and a clear word for all else."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuron_observer.daemon.web_config import load
from neuron_observer.errors import ConfigError
from neuron_observer.exporters.web.settings import Tls, WebSettings

HASH = "$2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG"  # of its documentation
TLS = "tls_server_config: {cert_file: a.crt, key_file: a.key"


def wrote(folder: Path, text: str) -> str:
    """A file that only its owner may read."""
    file = folder / "web-config.yml"
    file.write_text(text)
    file.chmod(0o600)
    return str(file)


def test_a_whole_file(tmp_path: Path) -> None:
    """Every key that is supported."""
    text = f"""
tls_server_config:
  cert_file: server.crt
  key_file: /etc/ssl/server.key
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: ca.crt
  client_allowed_sans: [prometheus.example, 10.0.0.1]
  min_version: TLS13
  max_version: TLS13
  prefer_server_cipher_suites: true
http_server_config:
  http2: false
  headers:
    Strict-Transport-Security: max-age=31536000
    X-Frame-Options: deny
basic_auth_users:
  alice: {HASH}
  bob: {HASH}
"""
    file = wrote(tmp_path, text)
    found = load(file)
    assert found == WebSettings(
        file,
        Tls(
            str(tmp_path / "server.crt"),
            "/etc/ssl/server.key",
            str(tmp_path / "ca.crt"),
            "",
            "required",
            frozenset({"prometheus.example", "10.0.0.1"}),
            "TLS13",
            "TLS13",
        ),
        (("Strict-Transport-Security", "max-age=31536000"), ("X-Frame-Options", "deny")),
        {"alice": HASH, "bob": HASH},
    )
    assert found.files() == (
        file,
        str(tmp_path / "server.crt"),
        "/etc/ssl/server.key",
        str(tmp_path / "ca.crt"),
    )
    assert HASH not in repr(found)


@pytest.mark.parametrize("text", ["", "# nothing\n", "{}"])
def test_an_empty_file(tmp_path: Path, text: str) -> None:
    """Protects nothing, as in exporter-toolkit."""
    file = wrote(tmp_path, text)
    assert load(file) == WebSettings(file)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("tls_server_confg: {}", 1, "did you mean 'tls_server_config'"),
        (TLS + ", keyfile: x}", 1, "did you mean 'key_file'"),
        ("\n\nhttp_server_config:\n  header: {}", 4, "did you mean 'headers'"),
        ("http_server_config: {headers: {X-Frame-Option: deny}}", 1, "'X-Frame-Options'"),
        ("http_server_config: {headers: {X-Frame-Options: no}}", 1, "none of deny, sameorigin"),
        ('http_server_config: {headers: {X-XSS-Protection: "a\\r\\nb: c"}}', 1, "one line"),
        ("rate_limit: {burst: 1}", 1, "rate_limit is not supported: requests are bounded"),
        ("http_server_config: {http2: true}", 1, "HTTP/2 is not spoken here"),
        ("tls_server_config: {cert: x, key: y}", 1, "cert is not supported: a key or certificate"),
        (TLS + ", cipher_suites: [A]}", 1, "cipher_suites is not supported"),
        (TLS + ", curve_preferences: [A]}", 1, "curve_preferences is not supported"),
        (TLS + ", prefer_server_cipher_suites: false}", 1, "only true is supported"),
        (TLS + ", min_version: TLS10}", 1, "TLS10 is not supported: RFC 8996"),
        (TLS + ", min_version: TLS14}", 1, "'TLS14' is none of TLS12, TLS13"),
        (TLS + ", min_version: TLS13, max_version: TLS12}", 1, "max_version is below"),
        (TLS + ", client_auth_type: RequireAnyClientCert}", 1, "nobody verifies proves nothing"),
        (TLS + ", client_auth_type: RequestClientCert}", 1, "nobody verifies proves nothing"),
        (TLS + ", client_auth_type: RequireAndVerifyClientCert}", 1, "needs client_ca_file"),
        (TLS + ", client_ca_file: x}", 1, "no client_auth_type asks for it"),
        (TLS + ", client_allowed_sans: [a]}", 1, "needs client_auth_type RequireAndVerify"),
        ("tls_server_config: {cert_file: a}", 1, "needs key_file"),
        ("tls_server_config: {key_file: a}", 1, "needs cert_file"),
        ("tls_server_config:", 1, "must be a mapping"),
        ("basic_auth_users: {a: secret}", 1, "the value of 'a' is no bcrypt hash"),
        ("basic_auth_users:\n  a: " + HASH.replace("$10$", "$31$"), 2, "'a' has cost 31"),
        ("basic_auth_users: {'a:b': x}", 1, "no user name"),
        (f"basic_auth_users:\n  a: {HASH}\n  a: {HASH}", 3, "'a' stands twice"),
        ("basic_auth_users: [a]", 1, "must be a mapping"),
        ("a: &x [1]\nb: *x", 2, "an alias (*name) is not allowed"),
        ("basic_auth_users:\n\ta: b", 2, "is no YAML"),
    ],
)
def test_what_is_wrong(tmp_path: Path, text: str, line: int, words: str) -> None:
    """The file, the line, the key and the reason; never a secret."""
    file = wrote(tmp_path, text)
    with pytest.raises(ConfigError) as error:
        load(file)
    assert str(error.value).startswith(f"{file}:{line}: ")
    assert words in str(error.value)
    assert "secret" not in str(error.value)
    assert error.value.exit_code == 64


def test_how_to_make_a_hash_is_said(tmp_path: Path) -> None:
    """Whoever writes a password there has the command that makes the hash."""
    with pytest.raises(ConfigError) as error:
        load(wrote(tmp_path, "basic_auth_users: {a: secret}"))
    assert "htpasswd -nBC 10" in error.value.remedy


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o602, 0o666])
def test_secrets_that_all_may_read(tmp_path: Path, mode: int) -> None:
    """Refused, for hashes and for keys, with the command that helps."""
    file = Path(wrote(tmp_path, f"basic_auth_users: {{a: {HASH}}}"))
    file.chmod(mode)
    with pytest.raises(ConfigError, match="every user of this machine may read password") as error:
        load(str(file))
    assert f"chmod 640 {file}" in error.value.remedy
    key = tmp_path / "a.key"
    key.touch(mode)
    key.chmod(mode)
    with pytest.raises(ConfigError, match=f"{key}: every user of this machine may read the priv"):
        load(wrote(tmp_path, TLS + "}"))


def test_what_all_may_read_is_no_secret(tmp_path: Path) -> None:
    """A file without users may be open to all; secrets may be open to a group."""
    file = Path(wrote(tmp_path, "http_server_config: {headers: {X-Frame-Options: deny}}"))
    file.chmod(0o644)
    assert load(str(file)).headers
    file.write_text(f"basic_auth_users: {{a: {HASH}}}")
    file.chmod(0o640)
    assert load(str(file)).users


def test_no_file(tmp_path: Path) -> None:
    """Named."""
    with pytest.raises(ConfigError, match=r"nowhere\.yml: cannot be read"):
        load(str(tmp_path / "nowhere.yml"))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=80))
def test_any_text_is_read_or_refused(tmp_path: Path, text: str) -> None:
    """Nothing else is raised."""
    file = tmp_path / "any.yml"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    with suppress(ConfigError):
        assert load(str(file)).file == str(file)
