"""Where to listen, and what is said where that cannot be."""

from __future__ import annotations

import pytest

from neuron_observer.errors import UsageError
from neuron_observer.exporters.listener import Address, bound, listen, open_to_all, parse_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:9744", Address("127.0.0.1", 9744)),
        ("localhost:0", Address("localhost", 0)),
        ("[::1]:9744", Address("::1", 9744)),
        ("0.0.0.0:65535", Address("0.0.0.0", 65535)),  # noqa: S104 - parsed, not listened on
    ],
)
def test_addresses(text: str, address: Address) -> None:
    """A host and a port, and back."""
    assert parse_address(text) == address
    assert str(address) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "9744",
        ":9744",
        "localhost",
        "localhost:",
        "localhost:x",
        "h:-1",
        "h:65536",
        "h:²",
        "::1:9",
    ],
)
def test_what_is_no_address(text: str) -> None:
    """An error that shows the form."""
    with pytest.raises(UsageError) as error:
        parse_address(text)
    assert "127.0.0.1:9744" in str(error.value)
    assert error.value.exit_code == 64


def test_port_in_use() -> None:
    """Which port, and how to find who has it."""
    with listen(Address("127.0.0.1", 0)) as first:
        taken = bound(first)
        with pytest.raises(UsageError) as error:
            listen(taken)
        assert f"127.0.0.1:{taken.port}: Address already in use" in str(error.value)
        assert f"sport = :{taken.port}" in error.value.remedy
        assert "--listen" in error.value.remedy
    with listen(taken) as again:
        assert bound(again) == taken


def test_an_address_of_another_machine() -> None:
    """192.0.2.1 is nobody's: RFC 5737 keeps it for documentation."""
    with pytest.raises(UsageError, match="name one of its own"):
        listen(Address("192.0.2.1", 9744))


def test_a_name_that_is_none() -> None:
    """A host with a label that is too long is refused before anybody is asked."""
    with pytest.raises(UsageError, match="--listen takes"):
        listen(Address("a" * 70 + ".invalid", 9744))


@pytest.mark.parametrize(
    ("host", "others"),
    [("127.0.0.1", False), ("127.0.0.9", False), ("::1", False), ("0.0.0.0", True), ("::", True)],  # noqa: S104 - bound for a moment
)
def test_who_can_reach_it(host: str, others: bool) -> None:
    """Loopback, in either family, is for this machine alone."""
    with listen(Address(host, 0)) as listener:
        assert open_to_all(listener) is others
