"""The power line: once a minute, by the wall clock, out of samples."""

from __future__ import annotations

from tests.sim.worlds import BEGIN, bench, fault

LINE = "stats/power/utilization"


def test_line_comes_with_each_minute() -> None:
    """NO_DATA until the first whole minute is over, then the minute's epoch."""
    host = bench()
    host.go(59.0)
    assert host.text(LINE) == "POWER_STATUS_NO_DATA,0,0.00,0.00,0.00\n"
    host.go(60.0)
    for minute in (2, 3, 4):
        host.go(60.0)
        status, epoch, *figures = host.text(LINE).strip().split(",")
        assert (status, int(epoch)) == ("POWER_STATUS_VALID", int(BEGIN) + 60 * minute)
        least, most, mean = map(float, figures)
        assert 30 <= least <= mean <= most <= 100


def test_idle_power_is_zero() -> None:
    """The baseline is backed out."""
    host = bench(jobs=())
    host.go(61.0)
    assert host.text(LINE).endswith(",0.00,0.00,0.00\n")
    assert host.text("stats/power/utilization_raw").startswith("die,util_bips,counter\n0,0,")


def test_flat_power() -> None:
    """All figures are the one that it is pinned to, until it is over."""
    host = bench(fault("power_flat", 60.0, 240.0, percent=99.5))
    host.go(181.0)
    assert host.text(LINE).endswith(",99.50,99.50,99.50\n")
    host.go(180.0)
    assert not host.text(LINE).endswith(",99.50\n")


def test_starved_sampler() -> None:
    """NO_DATA with the minute's epoch."""
    host = bench(fault("power_starved", 60.0))
    host.go(181.0)
    assert host.text(LINE) == f"POWER_STATUS_NO_DATA,{int(BEGIN) + 180},0.00,0.00,0.00\n"


def test_line_goes_stale_while_the_device_is_invalid() -> None:
    """Sampling stops, the old line stays."""
    host = bench(fault("reset_loop", 130.0, every=20.0, fails=True), jobs=())
    host.go(125.0)
    before = host.text(LINE)
    host.go(300.0)
    assert host.text(LINE) == before


def test_clock_step_moves_the_epoch() -> None:
    """The epoch follows the wall clock; simulated time does not."""
    host = bench()
    host.go(65.0)
    host.clock.step_wall(86_400.0)
    host.go(60.0)
    assert int(host.text(LINE).split(",")[1]) == int(BEGIN) + 86_400 + 120


def test_fast_simulation_has_the_present_as_its_epoch() -> None:
    """At sixty seconds a second a line is a second old, not an hour ahead."""
    from tests.sim.worlds import Bench, world_of  # noqa: PLC0415 - only here

    host = Bench(world_of(), speed=60.0)
    host.go(10.0)
    assert host.world.now == 600.0
    assert abs(int(host.text(LINE).split(",")[1]) - host.clock.wall()) <= 2
