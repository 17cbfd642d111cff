"""Names of pods by the devices that they were given: one pod, or no name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.jobs.pods import owners, with_name
from neuron_observer.model import Pod
from neuron_observer.parsers.pod_resources import Allotment
from tests.jobs.makers import TRN1, TRN2, holder

NEURON, CORE = "aws.amazon.com/neuron", "aws.amazon.com/neuroncore"


def given_to(pod: str, resource: str, *ids: str) -> Allotment:
    """An allotment in one namespace."""
    return Allotment("ml", pod, resource, ids)


@pytest.mark.parametrize(
    ("allotments", "devices", "name"),
    [
        ([given_to("a", NEURON, "0", "1"), given_to("b", NEURON, "2")], (0, 1), "a"),
        ([given_to("a", NEURON, "0"), given_to("a", NEURON, "1")], (0, 1), "a"),
        ([given_to("a", NEURON, "0"), given_to("b", NEURON, "1")], (0, 1), None),
        ([given_to("a", NEURON, "0"), given_to("done", NEURON, "0")], (0,), None),
        ([given_to("a", NEURON, "0")], (3,), None),
        ([given_to("a", NEURON, "neuron-0", "²")], (0,), None),
        ([given_to("a", "vendor.com/x", "0")], (0,), None),
        ([], (0,), None),
    ],
)
def test_the_pod_that_was_given_all_devices(
    allotments: list[Allotment], devices: tuple[int, ...], name: str | None
) -> None:
    """A pod that ended and is still listed makes the device two pods': then nobody is named."""
    process = holder(devices=devices, pod=Pod("u")).process
    pod = with_name(process, owners(allotments, TRN2)).pod
    assert pod == (Pod("u", name, "ml") if name else Pod("u"))


def test_cores_tell_a_device_only_where_their_number_is_certain() -> None:
    """Two cores a device on Trainium1; on Trainium2 a number may be a logical core's."""
    given_cores = [given_to("a", CORE, "6", "7")]
    assert owners(given_cores, TRN1) == {3: {("ml", "a")}}
    assert owners(given_cores, TRN2) == {}


def test_what_is_known_stays() -> None:
    """A name by its uid is better than one by devices; a process of no pod gets none."""
    pods = owners([given_to("a", NEURON, "0")], TRN2)
    known = holder(pod=Pod("u", "own", "ns")).process
    assert with_name(known, pods) is known
    bare = holder().process
    assert with_name(bare, pods) is bare


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.sets(st.integers(0, 5)))),
    st.sets(st.integers(0, 5), min_size=1),
)
def test_a_name_is_never_a_guess(given_: list[tuple[str, set[int]]], held: set[int]) -> None:
    """Who is named was given every device that is held, and nobody else was."""
    allotments = [given_to(pod, NEURON, *map(str, ids)) for pod, ids in given_]
    process = holder(devices=sorted(held), pod=Pod("u")).process
    pod = with_name(process, owners(allotments, TRN2)).pod
    assert pod is not None
    for name in "ab":
        whole = set[int]().union(*(ids for who, ids in given_ if who == name))
        if held <= whole:
            assert pod.name in (name, None)
        else:
            assert pod.name != name
