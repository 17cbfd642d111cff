"""Which devices a check is about: by number, or by logical cores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from neuron_observer.checks import scope as scopes
from neuron_observer.checks.numbers import listed
from neuron_observer.errors import UsageError
from tests.checks.looks import reader_of
from tests.hosts import host_of, without

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuron_observer.checks.scope import Scope
    from neuron_observer.sources.listing import ListingFs

TRN1 = "trn1.32xlarge-2.24.7-busy"
TRN2 = "trn2.48xlarge-2.30.2-busy"


def by_cores(host: ListingFs, cores: str, size: int | None = None) -> Scope:
    """The scope of a list of cores on a host."""
    reader = reader_of(host)
    snapshot = reader.poll(("slow", "firmware"))
    reader.close()
    return scopes.by_cores(listed(cores, "--cores"), size, reader.topology, snapshot.devices)


def test_devices_that_cannot_be(tree: Callable[[str], ListingFs]) -> None:
    """neuron16 of a trn1.32xlarge is an error; one that should be there and is not may be asked."""
    reader = reader_of(without(tree(TRN1), "sys/devices/virtual/neuron_device/neuron7"))
    assert scopes.by_devices((7,), reader.topology).devices == frozenset({7})
    with pytest.raises(UsageError, match="neuron16: no such device") as error:
        scopes.by_devices((3, 16), reader.topology)
    assert error.value.remedy == "This host has 0-15."
    reader.close()


@pytest.mark.parametrize(
    ("name", "size", "cores", "devices"),
    [
        (TRN2, None, "0-3", {0}),  # E35: two physical cores in a logical one, four a device
        (TRN2, None, "60-63", {15}),
        (TRN2, None, "7", {1}),
        (TRN2, 1, "7", {0}),
        (TRN2, 1, "8,127", {1, 15}),
        (TRN1, None, "1,31", {0, 15}),
    ],
)
def test_e35_cores_by_their_logical_numbers(
    name: str, size: int | None, cores: str, devices: set[int], tree: Callable[[str], ListingFs]
) -> None:
    """E35: a core is looked for on the device that holds its logical number; the map is told."""
    scope = by_cores(tree(name), cores, size)
    assert set(scope.devices or ()) == devices
    assert "logical cores of" in scope.told


def test_a_core_that_is_not_there(tree: Callable[[str], ListingFs]) -> None:
    """Core 64 of a trn2.48xlarge is there with single cores only."""
    with pytest.raises(UsageError, match="core 64: this node has 64 logical cores of 2") as error:
        by_cores(tree(TRN2), "0-64")
    assert "--core-size" in error.value.remedy
    assert by_cores(tree(TRN2), "64", 1).devices == frozenset({8})


def test_where_the_numbering_is_not_known_all_is_judged(tree: Callable[[str], ListingFs]) -> None:
    """With a device missing nobody knows how cores count; that is said, and nothing left out."""
    gone = "sys/devices/virtual/neuron_device/neuron7"
    scope = by_cores(without(tree(TRN1), gone), "0-3")
    assert scope.devices is None
    assert "devices are missing" in scope.told
    nothing = by_cores(host_of({"sys/module/neuron/version": b"2.30.2.0\n"}), "0")
    assert nothing.devices is None
    assert "no device here" in nothing.told
