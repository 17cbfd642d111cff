"""Lines: what prometheus_client's parsers read back is what was written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as text_format

from neuron_observer.catalogue.families import Family, FamilyType
from neuron_observer.exporters.exposition import Format, Writer, escape, head, lines
from neuron_observer.exporters.series import Sample, blocks, samples, shown
from neuron_observer.model import Cell, Missing, Place, Why
from tests.exporters.feeds import batch

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

GAUGE = Family("neuron_core_trial_seconds", FamilyType.GAUGE, 'Time "in" C:\\x\nand on', "seconds")
COUNTER = Family("neuron_core_trial", FamilyType.COUNTER, "Trials")
INFO = Family("neuron_trial", FamilyType.INFO, "A trial")
STATES = Family("neuron_trial_state", FamilyType.STATESET, "States", states=("a", "b"))

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
numbers = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)


HEADS = {
    (GAUGE, Format.TEXT): r"""
# HELP neuron_core_trial_seconds Time "in" C:\\x\nand on
# TYPE neuron_core_trial_seconds gauge
""",
    (GAUGE, Format.OPENMETRICS): r"""
# HELP neuron_core_trial_seconds Time \"in\" C:\\x\nand on
# TYPE neuron_core_trial_seconds gauge
# UNIT neuron_core_trial_seconds seconds
""",
    (COUNTER, Format.TEXT): """
# HELP neuron_core_trial_total Trials
# TYPE neuron_core_trial_total counter
""",
    (COUNTER, Format.OPENMETRICS): """
# HELP neuron_core_trial Trials
# TYPE neuron_core_trial counter
""",
    (INFO, Format.TEXT): """
# HELP neuron_trial_info A trial
# TYPE neuron_trial_info gauge
""",
    (INFO, Format.OPENMETRICS): """
# HELP neuron_trial A trial
# TYPE neuron_trial info
""",
    (STATES, Format.TEXT): """
# HELP neuron_trial_state States
# TYPE neuron_trial_state gauge
""",
    (STATES, Format.OPENMETRICS): """
# HELP neuron_trial_state States
# TYPE neuron_trial_state stateset
""",
}


@pytest.mark.parametrize(("family", "form"), HEADS)
def test_heads(family: Family, form: Format) -> None:
    """What stands above a family, in both formats."""
    assert head(family, form) == HEADS[family, form].removeprefix("\n")


@pytest.mark.parametrize(
    ("text", "escaped"),
    [("plain", "plain"), ('a"b', r"a\"b"), ("a\\b", r"a\\b"), ("a\nb", r"a\nb"), ("é{}", "é{}")],
)
def test_escaping(text: str, escaped: str) -> None:
    """Quote, backslash and newline; nothing else."""
    assert escape(text) == escaped


@settings(max_examples=80)
@given(st.lists(texts, min_size=1, max_size=5, unique=True), st.data())
def test_parsers_read_back_what_was_written(values: list[str], data: st.DataObject) -> None:
    """Any label value and any finite number survive both formats."""
    of = [Sample((("zone", value),), data.draw(numbers)) for value in values]
    body = lines(GAUGE, of)
    [plain] = text_format(head(GAUGE, Format.TEXT) + body)
    [strict] = _openmetrics(head(GAUGE, Format.OPENMETRICS) + body + "# EOF\n")
    exact = [(dict(labels), value) for labels, value in of]
    for family in (plain, strict):
        assert [(sample.labels, sample.value) for sample in family.samples] == exact
    assert plain.documentation == strict.documentation == GAUGE.help
    assert strict.unit == "seconds"


def _openmetrics(page: str) -> list[Metric]:
    return list(openmetrics(page))  # type: ignore[no-untyped-call]


METRICS_OF_ALL_KINDS = (
    "core.inferences",
    "core.time_in_use",
    "core.utilization",
    "core.execution.timeout",
    "core.execution.failure",
    "core.arch",
)
cells: st.SearchStrategy[Cell] = (
    st.integers(0, 2**64 - 1)
    | st.floats()
    | st.sampled_from(["", "NCv3", 'od"d\n%s'])
    | st.just(Missing(Why.STALE))
)


@settings(max_examples=100)
@given(st.lists(st.lists(cells, min_size=12, max_size=12), min_size=1, max_size=4))
@example([[0] * 12, [0.0] * 12, [-0.0] * 12])
def test_a_writer_writes_what_its_block_says(ticks: list[list[Cell]]) -> None:
    """The quick way gives the same lines as the plain one, tick after tick, gaps included."""
    places = [Place(0, 0), Place(0, 1)]

    def at(tick: list[Cell]) -> dict[str, list[tuple[Place, Cell]]]:
        pairs = [tick[i : i + 2] for i in range(0, 12, 2)]
        names = zip(METRICS_OF_ALL_KINDS, pairs, strict=True)
        return {name: list(zip(places, pair, strict=True)) for name, pair in names}

    [found] = blocks([batch(at(ticks[0]))], shown("full"))
    writers = [Writer(block) for block in found]
    assert len(writers) == 5  # two rows are of one family
    for tick in ticks:
        now = batch(at(tick)).cells
        for writer, block in zip(writers, found, strict=True):
            before = writer.text
            changed = writer.update(now)
            taken = [now[row] for row in block.rows]
            expected = lines(block.family, samples(block, taken))
            assert writer.text == expected
            assert writer.series == expected.count("\n")
            assert changed or writer.text == before
