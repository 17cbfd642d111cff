"""The table of cases against the simulation and the table of faults."""

from benchmarks.judgement.cases import CASES, CLOCK_STEP, UNSIMULATED
from benchmarks.judgement.watch import table
from neuron_observer.sim.faults import FAULTS


def test_every_fault_of_the_simulation_is_there() -> None:
    """A new fault needs a case."""
    assert {case.fault for case in CASES} - {CLOCK_STEP} == set(FAULTS)


def test_every_row_of_the_table_is_expected_of_a_fault() -> None:
    """Or it is said why not."""
    expected = {one.id for case in CASES for one in case.expects}
    assert expected | set(UNSIMULATED) == set(table())
    assert expected.isdisjoint(UNSIMULATED)


def test_names_tell_cases_apart() -> None:
    """A run is found again by its name."""
    assert len({case.name for case in CASES}) == len(CASES)


def test_parameters_are_those_of_the_fault() -> None:
    """A misspelt one would leave the default in place."""
    for case in CASES:
        if case.fault in FAULTS:
            assert set(case.values) <= {one.name for one in FAULTS[case.fault].parameters}
