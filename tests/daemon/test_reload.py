"""Reading anew: everything is checked first, what is wrong changes nothing and is told."""

from __future__ import annotations

import json
import os
import signal
import threading
from functools import partial
from typing import TYPE_CHECKING

import pytest

from neuron_observer.checks.judging import judge_by, load_rules
from neuron_observer.cli.planning import in_force
from neuron_observer.clock import ManualClock, SystemClock
from neuron_observer.collectors.own import LastReload
from neuron_observer.config import Sources, read
from neuron_observer.daemon.pace import Pace
from neuron_observer.daemon.reload import Reloader, log_by, put_in_force
from neuron_observer.daemon.signals import hangups
from neuron_observer.exporters.page import Page
from neuron_observer.log import Log
from neuron_observer.loop import Loop
from neuron_observer.model import Confidence
from neuron_observer.observer import HostReader, Options
from neuron_observer.sources.hostfs import DirectoryFs
from neuron_observer.sources.workers import DirectWorkers
from tests.exporters.feeds import frame_of
from tests.hosts import DEVICE
from tests.test_loop import FILES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from neuron_observer.clock import Clock
    from neuron_observer.daemon.plan import InForce
    from neuron_observer.model import Finding
    from neuron_observer.sources.hostfs import HostFs

SRAM = f"{DEVICE}/stats/hardware/sram_ecc_uncorrected"
RULE = """
rules:
  - id: ours
    scope: device
    when: {above: {metric: device.sram.ecc_uncorrected, than: 0}}
    severity: warning
    action: watch
    fact: {grade: source, source: ours}
    message: "MESSAGE {value}"
    meaning: ours
    clears: never
    steps: [nothing]
"""


def direct(host: HostFs, clock: Clock, blocking: bool) -> DirectWorkers:
    """Registers are read in this thread; the signature is the reader's."""
    return DirectWorkers(host, clock)


class Parts:
    """A daemon's parts over a folder of configuration, without its server."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "config.yaml"
        self.rules = folder / "rules.d"
        self.rules.mkdir(exist_ok=True)
        self.say(export="{detail: core}")
        self.clock = ManualClock()
        self.told: list[str] = []
        self.last = LastReload(self.clock)
        begun = self.read()
        self.judge = judge_by(begun.rules)
        for path, content in {**FILES, SRAM: b"3\n"}.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        host = DirectoryFs(str(folder))
        reader = HostReader(host, self.clock, Options(reload=self.last), direct)
        self.loop = Loop(reader, schedule=begun.lanes, judge=self.judge)
        self.page = Page(self.loop.feed, self.clock)
        self.log = Log(self.clock, self.hear, "json")
        self.pace = Pace(self.loop, self.clock, self.log)
        self.reloader = Reloader(
            begun,
            self.read,
            [
                partial(put_in_force, self.loop, self.judge, self.page, self.pace),
                partial(log_by, self.log),
            ],
            self.last,
            self.log,
        )
        self.loop.subscribe(self.reloader.note)

    def hear(self, line: bytes) -> bool:
        """Take a line of the log: the message of what concerns the configuration."""
        told = json.loads(line)
        if told["event"] in {"reloaded", "reload_refused", "configuration"}:
            self.told.append(told["message"])
        return True

    def say(self, **keys: str) -> None:
        """Write the configuration."""
        told = {"rules": f"{{directories: [{self.rules}]}}", "log": "{format: json}"} | keys
        self.file.write_text("".join(f"{key}: {text}\n" for key, text in told.items()))

    def read(self) -> InForce:
        """As the daemon does."""
        loaded = read(Sources(str(self.file)))
        return in_force(loaded, load_rules(loaded.config.rules.directories))

    def tick(self, seconds: float = 10.0) -> dict[str, Finding]:
        """Findings by id, after a while."""
        self.clock.advance(seconds)
        frame = self.loop.tick()
        assert frame is not None
        return {one.id: one for one in frame.findings}


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Parts]:
    """A daemon's parts."""
    made = Parts(tmp_path)
    yield made
    made.loop.close()


def test_what_changed_is_told_and_put_in_force(parts: Parts) -> None:
    """Between two frames; what needs a restart is told each time until it has one."""
    parts.tick()
    parts.say(
        export="{detail: node}", lanes="{normal: 2s}", listen="[]", trust_untested_driver="yes"
    )
    parts.reloader.reload()
    assert parts.loop.schedule.periods["normal"] == 1.0
    assert parts.told == []
    parts.tick()
    [line] = parts.told
    assert line == (
        "configuration reloaded: export.detail: node; lanes.normal: 2s;"
        " trust_untested_driver: true; needs a restart: listen"
    )
    assert parts.loop.schedule.periods["normal"] == 2.0
    parts.reloader.reload()
    parts.tick()
    assert parts.told[1:] == ["configuration reloaded: needs a restart: listen"]
    assert b"neuron_device_identity_info" not in parts.page.render()
    assert b"neuron_observer_config_last_reload_successful 1\n" in parts.page.render()


def test_the_lane_of_firmware_is_its_pace(parts: Parts) -> None:
    """Of collectors that are there and of those that a driver reload makes."""
    parts.say(lanes="{firmware: 20s}")
    parts.reloader.reload()
    parts.tick()
    reader = parts.loop.reader
    assert reader.options.firmware_period == reader._firmware.period == 20.0
    assert parts.loop.schedule.periods["firmware"] == 20.0


def test_nothing_changed(parts: Parts) -> None:
    """Says so, and is a success."""
    parts.clock.advance(5.0)
    parts.reloader.reload()
    parts.reloader.note(frame_of())
    assert parts.told == ["configuration reloaded: nothing changed"]
    assert parts.last.succeeded_at == parts.clock.wall()


@pytest.mark.parametrize(
    "wrong",
    ["exprt: {detail: node}\n", "export: {detail: nod}\n", "\t", "a: [&x b, *x]\n", "export: }\n"],
)
def test_a_wrong_file_changes_nothing(parts: Parts, wrong: str) -> None:
    """One line says what and where, the metric says that it failed; what holds goes on to."""
    parts.tick()
    before = parts.reloader.running
    begun = parts.last.succeeded_at
    parts.file.write_text(f"lanes: {{normal: 2s}}\n{wrong}")
    parts.reloader.reload()
    parts.tick()
    assert parts.reloader.running is before
    assert parts.loop.schedule.periods["normal"] == 1.0
    [line] = parts.told
    assert line.startswith(f"reload refused, all stays as it was: {parts.file}:2: ")
    assert "\n" not in line
    page = parts.page.render().decode()
    assert "neuron_observer_config_last_reload_successful 0\n" in page
    assert f"neuron_observer_config_last_reload_success_timestamp_seconds {begun:.0f}" in page
    parts.say(lanes="{normal: 2s}")
    parts.reloader.reload()
    parts.tick()
    assert parts.last.successful
    assert parts.loop.schedule.periods["normal"] == 2.0


def test_a_wrong_rule_changes_nothing(parts: Parts) -> None:
    """Rules are read before anything is put in force."""
    parts.tick()
    parts.say(lanes="{normal: 2s}")
    (parts.rules / "ours.yaml").write_text(RULE.replace("above", "abbove"))
    parts.reloader.reload()
    parts.tick()
    assert "reload refused" in parts.told[0]
    assert "ours.yaml:5" in parts.told[0]
    assert parts.loop.schedule.periods["normal"] == 1.0


def test_what_breaks_on_the_way_is_told(parts: Parts) -> None:
    """Whatever it is, the daemon goes on as it was."""
    parts.file.unlink()
    parts.file.mkdir()
    parts.reloader.reload()
    assert "Is a directory" in parts.told[0]

    def broken() -> InForce:
        raise MemoryError("no room")

    parts.reloader._read = broken
    parts.reloader.reload()
    assert parts.told[1] == "reload refused, all stays as it was: MemoryError: no room"


def test_what_cannot_be_put_in_force_is_told(parts: Parts) -> None:
    """The rest is in force all the same."""

    def broken(_: InForce) -> None:
        raise RuntimeError("no more")

    parts.reloader._put_in_force = [broken, *parts.reloader._put_in_force]
    parts.say(lanes="{normal: 2s}")
    parts.reloader.reload()
    parts.tick()
    assert parts.told[1:] == ["not all of it is in force: RuntimeError: no more"]
    assert not parts.last.successful
    assert parts.loop.schedule.periods["normal"] == 2.0


def test_rules_come_change_and_go(parts: Parts) -> None:
    """A finding that stands goes on under the changed rule, with its first sight and its trust."""
    own = parts.rules / "ours.yaml"
    assert "ours" not in parts.tick()
    own.write_text(RULE.replace("MESSAGE", "old"))
    parts.reloader.reload()
    parts.tick()
    parts.tick()
    before = parts.tick()["ours"]
    assert (before.message, before.confidence) == ("old 3", Confidence.CONFIRMED)
    own.write_text(RULE.replace("MESSAGE", "new"))
    parts.reloader.reload()
    parts.tick()
    after = parts.tick()["ours"]
    assert (after.message, after.confidence) == ("new 3", Confidence.CONFIRMED)
    assert after.first_seen == before.first_seen
    own.unlink()
    parts.reloader.reload()
    parts.tick()
    assert "ours" not in parts.tick()
    assert [line.rpartition("reloaded: ")[2] for line in parts.told] == [
        "rules: 1 new",
        "rules: 1 changed",
        "rules: 1 gone",
    ]


def test_the_page_is_told_before_the_loop_ticks_again(parts: Parts) -> None:
    """Nothing is put in force by the thread that reads."""
    parts.say(export="{detail: node}")
    parts.reloader.reload()
    assert parts.page._shown
    before = parts.page._shown
    parts.reloader.note(frame_of())
    assert parts.page._shown is not before
    after = parts.page._shown
    parts.reloader.note(frame_of())
    assert parts.page._shown is after


def test_many_hangups_are_few_reloads(parts: Parts) -> None:
    """One that comes while another is read is answered afterwards, once; none ends the process."""
    begun, go_on = threading.Event(), threading.Event()
    reads = 0
    read_it = parts.read

    def slow() -> InForce:
        nonlocal reads
        reads += 1
        begun.set()
        assert go_on.wait(10)
        return read_it()

    parts.reloader._read = slow
    with hangups() as asked, parts.reloader.answering(asked):
        os.kill(os.getpid(), signal.SIGHUP)
        assert begun.wait(10)
        for _ in range(50):
            os.kill(os.getpid(), signal.SIGHUP)
        go_on.set()
        deadline = SystemClock().monotonic() + 10
        while reads < 2 or parts.reloader._next is None:
            assert SystemClock().monotonic() < deadline
            SystemClock().wait(0.01)
    assert reads == 2


def test_hangups_do_afterwards_what_they_did_before() -> None:
    """Also those that come before anybody answers are kept."""
    before = signal.getsignal(signal.SIGHUP)
    with hangups() as asked:
        signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGHUP)
    assert asked.qsize() == 2
    assert signal.getsignal(signal.SIGHUP) is before
