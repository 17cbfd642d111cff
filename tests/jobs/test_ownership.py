"""Which logical cores a process has, by which source, and when that is not said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.jobs.ownership import NodeShape, Told, cores_of, ranges
from neuron_observer.parsers.cgroup import Membership
from tests.jobs.makers import TRN1, TRN2, holder, rank_variables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neuron_observer.model import Cores

BOX = Membership("/docker", container="3f" * 32)
ALL = tuple(range(16))


def cores(
    variables: Mapping[str, str] | None,
    *,
    devices: tuple[int, ...] = ALL,
    shape: NodeShape = TRN2,
    told: Told | None = None,
    member: Membership = Membership(),  # noqa: B008 - immutable
) -> Cores:
    """Cores of a process that is a job of its own."""
    one = holder(devices=devices, variables=variables, member=member)
    return cores_of(one, [one], shape, told)


def test_the_report_of_a_runtime_counts_most() -> None:
    """neuron-monitor's list wins over what the process was started with."""
    found = cores({"NEURON_RT_VISIBLE_CORES": "0-3"}, told=Told((8, 9), 2))
    assert (found.numbers, found.size) == ((8, 9), 2)
    assert (found.source, found.confidence) == ("monitor", "reported")


def test_visible_cores_are_stated() -> None:
    """One process with a range of its own."""
    found = cores({"NEURON_RT_VISIBLE_CORES": "4-7"}, devices=(1,))
    assert (found.numbers, found.size) == ((4, 5, 6, 7), 2)
    assert (found.source, found.confidence) == ("visible_cores", "stated")


@pytest.mark.parametrize(
    "variables", [rank_variables(2, 4), {"NEURON_RT_VISIBLE_CORES": "4-7"}, {}]
)
def test_who_holds_no_device_has_no_core(variables: dict[str, str]) -> None:
    """A rank that computes on the host, or has not opened its device yet."""
    found = cores(variables, devices=())
    assert (found.numbers, found.how_many, found.detail) == ((), None, "it holds no device")
    reported = cores(variables, devices=(), shape=NodeShape({}, {}), told=Told((8,), 2))
    assert reported.numbers == (8,)


@pytest.mark.parametrize(
    ("variables", "size"),
    [
        ({}, 2),
        ({"NEURON_RT_VIRTUAL_CORE_SIZE": "1"}, 1),
        ({"NEURON_LOGICAL_NC_CONFIG": "1"}, 1),
        ({"NEURON_LOGICAL_NC_CONFIG": "1", "NEURON_RT_VIRTUAL_CORE_SIZE": "1"}, 1),
        ({"NEURON_LOGICAL_NC_CONFIG": "1", "NEURON_RT_VIRTUAL_CORE_SIZE": "2"}, None),
        ({"NEURON_RT_VIRTUAL_CORE_SIZE": "9"}, None),
    ],
)
def test_size_of_a_logical_core(variables: dict[str, str], size: int | None) -> None:
    """Each process has its own; two variables that contradict each other tell none."""
    assert cores({"NEURON_RT_VISIBLE_CORES": "0", **variables}).size == size


def test_chips_without_logical_cores_have_size_one() -> None:
    """On Trainium1 a core is a core."""
    assert cores({"NEURON_RT_VISIBLE_CORES": "0-1"}, shape=TRN1).size == 1


def test_an_unknown_chip_has_no_size() -> None:
    """Nothing is assumed of a chip that did not say its name."""
    shape = NodeShape({0: None}, {0: 8})
    assert cores({"NEURON_RT_VISIBLE_CORES": "0"}, shape=shape, devices=(0,)).size is None


@pytest.mark.parametrize(("size", "device"), [("1", 0), ("2", 1)])
def test_the_same_number_is_on_another_device_at_another_size(size: str, device: int) -> None:
    """Core 7 is on neuron0 at size 1 and on neuron1 at size 2 (case E35)."""
    variables = {"NEURON_RT_VISIBLE_CORES": "7", "NEURON_RT_VIRTUAL_CORE_SIZE": size}
    assert cores(variables, devices=(device,)).numbers == (7,)
    assert cores(variables, devices=(1 - device,)).numbers == ()


@pytest.mark.parametrize("local", range(4))
def test_ranks_share_what_their_launcher_was_given(local: int) -> None:
    """A range that all ranks have in common is divided by local rank."""
    given_all = {"NEURON_RT_VISIBLE_CORES": "16-31"}
    ranks = [holder(100 + r, ALL, variables=rank_variables(r, 4, **given_all)) for r in range(4)]
    found = cores_of(ranks[local], ranks, TRN2, None)
    assert found.numbers == tuple(range(16 + local * 4, 20 + local * 4))
    assert (found.source, found.confidence) == ("local_rank", "derived")


def test_a_range_that_cannot_be_shared_tells_nothing() -> None:
    """Five cores over two ranks."""
    odd = {"NEURON_RT_VISIBLE_CORES": "0-4"}
    ranks = [holder(100 + r, ALL, variables=rank_variables(r, 2, **odd)) for r in range(2)]
    found = cores_of(ranks[0], ranks, TRN2, None)
    assert found.numbers == ()
    assert "cannot be shared by 2 ranks" in found.detail


def test_ranges_of_their_own_are_stated_for_ranks_too() -> None:
    """A launcher script that gives each rank another range."""
    ranks = [
        holder(100 + r, ALL, variables=rank_variables(r, 2, NEURON_RT_VISIBLE_CORES=f"{r * 2}"))
        for r in range(2)
    ]
    assert cores_of(ranks[1], ranks, TRN2, None).numbers == (2,)
    assert cores_of(ranks[1], ranks, TRN2, None).source == "visible_cores"


@pytest.mark.parametrize(("size", "device"), [("1", 1), ("2", 2)])
def test_local_rank_alone_is_one_core_a_rank(size: str, device: int) -> None:
    """The ninth local rank: on neuron1 at size 1, on neuron2 at size 2."""
    variables = rank_variables(8, 64, NEURON_LOGICAL_NC_CONFIG=size)
    found = cores(variables, devices=(device,))
    assert (found.numbers, found.source) == ((8,), "local_rank")
    assert not cores(variables, devices=(0,)).numbers


def test_more_cores_than_one_a_rank_are_not_placed() -> None:
    """NEURON_RT_NUM_CORES: the runtime takes which are free."""
    found = cores(rank_variables(1, 4, NEURON_RT_NUM_CORES="2"))
    assert (found.numbers, found.how_many) == ((), 2)
    assert "not told" in found.detail


def test_all_cores_is_no_number() -> None:
    """NEURON_RT_NUM_CORES=0 means all."""
    found = cores({"NEURON_RT_NUM_CORES": "0"})
    assert (found.how_many, found.detail) == (0, "all that are free")


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        (None, "could not be read"),
        ({}, "nothing says"),
        ({"NEURON_RT_VISIBLE_CORES": "all"}, "no list of cores"),
    ],
)
def test_what_is_not_told_is_unknown_with_its_reason(
    variables: dict[str, str] | None, reason: str
) -> None:
    """An unreadable environment is not an empty one."""
    found = cores(variables)
    assert (found.numbers, found.how_many, found.confidence) == ((), None, "unknown")
    assert reason in found.detail


def test_numbers_that_contradict_the_descriptors_count_for_nothing() -> None:
    """A container counts its cores from 0 whatever device it was given (case E16)."""
    found = cores({"NEURON_RT_VISIBLE_CORES": "0-3"}, devices=(5,), member=BOX)
    assert (found.numbers, found.confidence) == ((), "unknown")
    assert "neuron0, which it does not hold" in found.detail
    assert "its container's numbers" in found.detail


def test_numbers_of_a_container_that_cannot_be_compared_are_not_taken() -> None:
    """Without the shape of the devices they may be the container's or the node's."""
    found = cores({"NEURON_RT_VISIBLE_CORES": "0"}, shape=NodeShape({}, {}), member=BOX)
    assert found.numbers == ()
    assert "within its container" in found.detail


def test_devices_of_several_sizes_are_not_counted_through() -> None:
    """Where devices differ in cores a number says nothing of its device."""
    mixed = NodeShape({0: "Trainium2", 1: "Trainium2"}, {0: 8, 1: 2})
    assert mixed.device_of(1, 2) is None
    assert TRN2.device_of(1, 3) is None


@given(st.integers(0, 63), st.sets(st.integers(0, 15), min_size=1))
def test_taken_numbers_are_on_devices_that_are_held(core: int, held: set[int]) -> None:
    """No core is ever said to be on a device without a descriptor."""
    found = cores({"NEURON_RT_VISIBLE_CORES": str(core)}, devices=tuple(sorted(held)))
    assert bool(found.numbers) == (core // 4 in held)


@given(st.sets(st.integers(0, 80)))
def test_ranges_hold_what_went_in(numbers: set[int]) -> None:
    """0, 1, 2, 5 → 0-2,5 and back."""
    text = ranges(sorted(numbers))
    back: set[int] = set()
    for part in text.split(",") if text else []:
        first, _, last = part.partition("-")
        back.update(range(int(first), int(last or first) + 1))
    assert back == numbers
