"""The kubelet's answer: what is taken of it, and that nothing in it can hurt."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.parsers.pod_resources import Allotment, pod_resources
from tests.sources.kubelets import ANSWER, Pods, encoded

NAMES = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=20)


def test_an_answer_of_the_kubelet() -> None:
    """Fields that are not asked for are passed over; a container without devices has none."""
    assert pod_resources(ANSWER) == (
        Allotment("ml-team", "llama-worker-0", "aws.amazon.com/neuron", ("5", "6")),
        Allotment("ml-team", "llama-worker-0", "vpc.amazonaws.com/efa", ("rdmap0s6",)),
        Allotment("ml-team", "serve-0", "aws.amazon.com/neuroncore", ("14", "15")),
    )


@given(
    st.lists(
        st.tuples(NAMES, NAMES, st.lists(st.tuples(NAMES, st.lists(NAMES, max_size=3)), max_size=3))
    )
)
def test_what_was_written_is_read(pods: Pods) -> None:
    """Any names and ids, also empty ones."""
    expected = [
        Allotment(namespace, name, resource, tuple(ids))
        for namespace, name, devices in pods
        for resource, ids in devices
    ]
    assert pod_resources(encoded(pods)) == tuple(expected)


@given(st.binary(max_size=200), st.integers(0, len(ANSWER)))
def test_any_bytes_have_an_answer(raw: bytes, cut: int) -> None:
    """Noise, a cut answer, both: never an error, and text that cannot move a cursor."""
    for message in (raw, ANSWER[:cut], ANSWER[:cut] + raw):
        for one in pod_resources(message):
            words = (one.namespace, one.pod, one.resource, *one.ids)
            assert all(word.isprintable() and len(word) <= 256 for word in words)
