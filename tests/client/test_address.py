"""Where a daemon is, from what a user wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.client.address import Address, local, parse
from neuron_observer.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("url", "address", "text"),
    [
        ("http://n1:9744", Address("http", "n1", 9744), "http://n1:9744"),
        ("http://n1:9744/", Address("http", "n1", 9744), "http://n1:9744"),
        ("https://n1", Address("https", "n1", 443), "https://n1:443"),
        ("http://[::1]:1/x/", Address("http", "::1", 1, "/x"), "http://[::1]:1/x"),
        ("unix:///a/b.sock", Address("unix", path="/a/b.sock"), "unix:///a/b.sock"),
        ("unix:/a/b.sock", Address("unix", path="/a/b.sock"), "unix:///a/b.sock"),
    ],
)
def test_addresses(url: str, address: Address, text: str) -> None:
    """Host, port and path; and back as a URL."""
    assert parse(url) == address
    assert str(address) == text


@pytest.mark.parametrize(
    "url",
    [
        "",
        "n1:9744",
        "ftp://n1",
        "http://",
        "http://n1:99999",
        "http://n1:x",
        "http://[::1",
        "http://n1?x=1",
        "http://n1#x",
        "http://n1/a b",
        "http://ü",
        "unix://relative",
        "unix:///a\0b",
        "http://n1/\r\nX: y",
    ],
)
def test_what_is_no_address(url: str) -> None:
    """A usage error that says the form."""
    with pytest.raises(UsageError):
        parse(url)


def test_passwords_do_not_belong_there() -> None:
    """The URL is not even repeated, because it stands in logs then."""
    with pytest.raises(UsageError) as error:
        parse("https://me:secret@n1")
    assert "secret" not in str(error.value)


def test_a_certificate_belongs_to_https() -> None:
    """It is kept there, and refused elsewhere."""
    assert parse("https://n1", "ca.pem").ca_file == "ca.pem"
    with pytest.raises(UsageError, match="goes with an https URL"):
        parse("http://n1", "ca.pem")


@given(st.text(max_size=40) | st.text(max_size=20).map(lambda rest: f"http://{rest}"))
def test_any_text_is_an_address_or_refused(url: str) -> None:
    """Nothing else is raised, and what is one fits into a request."""
    try:
        address = parse(url)
    except UsageError:
        return
    if address.scheme != "unix":
        assert f"{address.authority}{address.prefix}".isascii()
        assert not set(" \r\n") & set(f"{address.authority}{address.prefix}")


def test_the_local_socket(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where a file is there; the environment moves it, and empty is none."""
    path = tmp_path / "o.sock"
    monkeypatch.setenv("NEURON_OBSERVER_SOCKET", str(path))
    assert local() is None
    path.touch()
    assert local() == Address("unix", path=str(path))
    monkeypatch.setenv("NEURON_OBSERVER_SOCKET", "")
    assert local() is None
