"""Sums hold and counters rise, whatever jobs and faults come; time may be cut in any way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from neuron_observer.sim.faults import FAULTS
from neuron_observer.sim.job import Job
from neuron_observer.sim.machine_tree import build
from neuron_observer.sim.state import U64
from tests.sim.worlds import fault, world_of

if TYPE_CHECKING:
    from neuron_observer.sim.faults.kind import Fault
    from neuron_observer.sim.state import Node
    from neuron_observer.sim.world import World

END = 120.0
# what lets a counter fall, or a memory total: somebody's hand, or the driver
FALLING = ("counter_cleared", "driver_reload", "driver_absent")
MACHINES = st.sampled_from(
    [("trn2.3xlarge", "2.30.2"), ("inf2.24xlarge", "2.28"), ("inf1.6xlarge", "2.24.7")]
)


@st.composite
def faults(draw: st.DrawFn, *, falling: bool) -> tuple[Fault, ...]:
    """Some faults of any kind, at any time; memory counters are never cleared."""
    names = [name for name in FAULTS if FAULTS[name].scope != "port"]
    if not falling:
        names = [name for name in names if name not in FALLING]
    found = []
    for name in draw(st.lists(st.sampled_from(names), max_size=5)):
        at = draw(st.floats(0, END))
        until = draw(st.none() | st.floats(at + 0.1, END + 1)) if FAULTS[name].ends else None
        found.append(fault(name, at, until, core=draw(st.integers(0, 1))))
    return tuple(found)


@st.composite
def jobs(draw: st.DrawFn) -> tuple[Job, ...]:
    """Some jobs on the first device."""
    found = []
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.floats(0, 60))
        until = draw(st.none() | st.floats(at + 1, END))
        found.append(Job(at=at, until=until, devices=(0,), cores=draw(st.none() | st.just((0,)))))
    return tuple(found)


def assert_sums(node: Node) -> None:
    """A core's HBM is its 11 categories; a device's host memory is that of its cores."""
    for device in node.devices:
        for core in device.cores:
            assert core.held.total == sum(one.total for one in core.categories.values())
            assert core.held.total < 1 << 40
        of_cores = sum(core.host.total for core in device.cores)
        assert of_cores == sum(one.total for one in device.host.values())


def totals(world: World) -> dict[tuple[int, int, str], int]:
    """All counters."""
    return {
        (device.index, core.index, name): counter.total
        for device in world.node.devices
        for core in device.cores
        for name, counter in core.counters.items()
    }


@given(MACHINES, jobs(), faults(falling=True), st.lists(st.floats(0.05, 30), max_size=8))
@settings(max_examples=40)
def test_sums_hold_at_every_tick(
    machine: tuple[str, str], work: tuple[Job, ...], wrong: tuple[Fault, ...], steps: list[float]
) -> None:
    """After each step, under any mix of jobs and faults."""
    world = world_of(*wrong, instance=machine[0], driver=machine[1], jobs=work)
    for step in [*steps, END]:
        world.advance(step)
        assert_sums(world.node)


@given(MACHINES, jobs(), faults(falling=False), st.lists(st.floats(0.05, 30), max_size=8))
@settings(max_examples=40)
def test_counters_never_fall(
    machine: tuple[str, str], work: tuple[Job, ...], wrong: tuple[Fault, ...], steps: list[float]
) -> None:
    """Unless somebody clears one or the driver goes."""
    world = world_of(*wrong, instance=machine[0], driver=machine[1], jobs=work)
    before = totals(world)
    for step in [*steps, END]:
        world.advance(step)
        now = totals(world)
        assert all(now[key] >= value for key, value in before.items())
        assert max(now.values()) <= U64
        before = now


@given(MACHINES, jobs(), faults(falling=True), st.lists(st.floats(0.01, END), max_size=12))
@settings(max_examples=30)
def test_time_may_be_cut_anywhere(
    machine: tuple[str, str], work: tuple[Job, ...], wrong: tuple[Fault, ...], cuts: list[float]
) -> None:
    """Looking more often changes nothing: every file is the same at the end."""
    once, often = (
        world_of(*wrong, instance=machine[0], driver=machine[1], jobs=work) for _ in range(2)
    )
    once.advance_to(END)
    for cut in sorted(cuts):
        often.advance_to(cut)
    often.advance_to(END)
    one, other = build(once).leaves, build(often).leaves
    assert one.keys() == other.keys()
    differing = [
        path
        for path, leaf in one.items()
        if leaf.render and leaf.render() != other[path].render()  # type: ignore[misc]
    ]
    assert differing == []
    assert once.log.since(0) == often.log.since(0)


def test_another_seed_is_another_machine() -> None:
    """Serial numbers and loads come from the seed, the type and the driver."""
    one, same, other = (
        world_of(instance=name) for name in ("trn2.3xlarge", "trn2.3xlarge", "trn1.2xlarge")
    )
    serials = [world.node.devices[0].firmware.serial for world in (one, same, other)]
    assert serials[0] == serials[1] != serials[2]


def test_what_is_every_second_happens_so_often() -> None:
    """An action that recurs comes at its times, and not after its end."""
    world = world_of(jobs=())
    seen: list[float] = []
    world.every(10.0, lambda: seen.append(world.now), until=35.0)
    world.advance(100.0)
    assert seen == [10.0, 20.0, 30.0]


def test_what_is_past_happens_with_the_next_step() -> None:
    """An action for an earlier time is not lost."""
    world = world_of(jobs=())
    world.advance(50.0)
    seen: list[float] = []
    world.at(1.0, lambda: seen.append(world.now))
    world.advance(0.0)
    assert seen == [50.0]
