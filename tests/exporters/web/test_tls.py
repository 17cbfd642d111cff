"""Certificates, keys and authorities: which are taken, and what is said of the others."""

from __future__ import annotations

import ssl
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from neuron_observer.errors import ConfigError
from neuron_observer.exporters.web.settings import Tls
from neuron_observer.exporters.web.tls import secured
from tests.exporters.certificates import made

if TYPE_CHECKING:
    from pathlib import Path


def settings(**changes: Any) -> Tls:
    """The server's pair, with changes."""
    server = made()["server"]
    return Tls(str(server.certificate), str(server.key))._replace(**changes)


def test_a_pair() -> None:
    """TLS 1.2 or 1.3, and no client is asked for a certificate."""
    context = secured(settings()).context
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert context.maximum_version is ssl.TLSVersion.TLSv1_3
    assert context.verify_mode is ssl.CERT_NONE
    assert context.options & ssl.OP_NO_RENEGOTIATION


def test_only_the_newest() -> None:
    """As the file says."""
    context = secured(settings(min_version="TLS13")).context
    assert context.minimum_version is ssl.TLSVersion.TLSv1_3


@pytest.mark.parametrize(("word", "mode"), [("optional", 1), ("required", 2)])
def test_clients_with_certificates(word: str, mode: int) -> None:
    """From a file or in place."""
    authority = made()["authority"].certificate
    from_file = settings(client_certificate=word, client_ca_file=str(authority))
    assert secured(from_file).context.verify_mode == mode
    in_place = settings(client_certificate=word, client_ca=authority.read_text())
    assert secured(in_place).context.get_ca_certs() == secured(from_file).context.get_ca_certs()


def refused(tls: Tls) -> str:
    """What is said."""
    with pytest.raises(ConfigError) as error:
        secured(tls)
    return str(error.value)


@pytest.mark.parametrize("field", ["cert_file", "key_file", "client_ca_file"])
def test_what_cannot_be_read(tmp_path: Path, field: str) -> None:
    """The file, the reason and what to do; a folder is no file either."""
    missing, folder = str(tmp_path / "gone"), str(tmp_path)
    assert refused(settings(**{field: missing})).startswith(f"{missing}: cannot be read: No such")
    said = refused(settings(**{field: folder}))
    assert said.startswith(f"{folder}: cannot be read: Is a directory")
    assert "user must be able to read it" in said


def test_a_key_of_another_certificate() -> None:
    """Both files, and how to compare them."""
    key = str(made()["another"].key)
    said = refused(settings(key_file=key))
    assert said.startswith(f"{key}: is not the key of the certificate ")
    assert "openssl x509 -noout -pubkey" in said


def test_what_is_no_certificate(tmp_path: Path) -> None:
    """Text that is no PEM, in each place."""
    file = tmp_path / "text"
    file.write_text("hello\n")
    assert f"{file}: with its key" in refused(settings(cert_file=str(file)))
    assert "no PEM pair" in refused(settings(key_file=str(file)))
    authority = settings(client_certificate="required", client_ca_file=str(file))
    assert refused(authority).startswith(f"{file}: holds no PEM certificate")


def test_a_key_with_a_password(tmp_path: Path) -> None:
    """Nobody is asked on the terminal: a daemon would hang there."""
    locked = tmp_path / "locked.key"
    key = str(made()["server"].key)
    command = ["openssl", "pkey", "-in", key, "-aes256", "-passout", "pass:x", "-out", str(locked)]
    subprocess.run(command, check=True, capture_output=True)
    said = refused(settings(key_file=str(locked)))
    assert f"{locked}: is encrypted" in said
    assert "openssl pkey" in said
