"""SIGHUP: the configuration and the rules are read anew, and what changed is put in force.

A thread of its own reads and checks everything first; what is wrong changes nothing. What was read
is then put in force by the loop's thread, between two frames, so that nothing is seen half changed.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext, suppress
from queue import Empty
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple

from neuron_observer.config.keys import keys, value_at
from neuron_observer.config.write import written
from neuron_observer.daemon.budget import Budget
from neuron_observer.errors import ObserverError
from neuron_observer.recording.flight import Limits
from neuron_observer.rules.rule import same

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from queue import SimpleQueue

    from neuron_observer.checks.judging import Judge
    from neuron_observer.collectors.own import LastReload
    from neuron_observer.config import Config, Loaded
    from neuron_observer.config.keys import Key
    from neuron_observer.daemon.pace import Pace
    from neuron_observer.exporters.page import Page
    from neuron_observer.log import Log
    from neuron_observer.loop import Loop
    from neuron_observer.model import Frame
    from neuron_observer.recording.flight import FlightRecorder
    from neuron_observer.rules.rule import Rule


_REFUSED = "reload_refused"


class Running(NamedTuple):
    """What a daemon goes by."""

    loaded: Loaded
    rules: tuple[Rule, ...]


class Reloader:
    """Reads anew when it is asked to."""

    def __init__(
        self,
        running: Running,
        read: Callable[[], Running],
        put_in_force: Sequence[Callable[[Running], None]],
        last: LastReload,
        log: Log,
        around: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """`put_in_force` is called in the loop's thread, with what is to hold from then on.

        `around` lasts as long as a reload does.
        """
        self.running = running  # what is in force
        self._begun_with = running.loaded.config  # what needs a restart is still as it was then
        self._read = read
        self._put_in_force = put_in_force
        self._last = last
        self._log = log
        self._around = around
        self._next: Running | None = None  # to be put in force
        self._ended = False

    @contextmanager
    def answering(self, asked: SimpleQueue[None]) -> Iterator[None]:
        """Reload for whoever puts to the queue; one reload answers all that came before it."""
        Thread(target=self._answer, args=(asked,), name="reload", daemon=True).start()
        try:
            yield
        finally:
            self._ended = True
            asked.put(None)

    def _answer(self, asked: SimpleQueue[None]) -> None:
        while True:
            asked.get()
            with suppress(Empty):
                while True:
                    asked.get_nowait()
            if self._ended:
                return
            with self._around():
                self.reload()

    def reload(self) -> None:
        """Read, check, and have it put in force; what is wrong changes nothing and is told."""
        try:
            found = self._read()
        except ObserverError as error:
            remedy = f" ({' '.join(error.remedy.split())})" if error.remedy else ""
            self._refused(error.message + remedy)
        except Exception as error:  # noqa: BLE001 - whatever it is, the daemon goes on as it was
            self._refused(f"{type(error).__name__}: {error}")
        else:
            self._next = found

    def _refused(self, why: str) -> None:
        self._last.failed()
        self._log.over(_REFUSED)  # who asks again wants to hear it again
        self._log.error(_REFUSED, f"reload refused, all stays as it was: {why}")

    def note(self, _frame: Frame) -> None:
        """Between two frames: put in force what was read."""
        found, self._next = self._next, None
        if found is None:
            return
        self._last.succeeded()
        for remark in found.loaded.remarks:
            self._log.warning("configuration", remark, about=remark)
        self._log.over(_REFUSED)
        self._log.info("reloaded", f"configuration reloaded: {self._told(found)}")
        self.running = found
        for change in self._put_in_force:
            self._fenced(change, found)

    def _fenced(self, change: Callable[[Running], None], found: Running) -> None:
        try:
            change(found)
        except Exception as error:  # noqa: BLE001 - the others are put in force all the same
            self._last.failed()
            self._log.over(_REFUSED)
            text = f"not all of it is in force: {type(error).__name__}: {error}"
            self._log.error(_REFUSED, text)

    def _told(self, found: Running) -> str:
        before, now = self.running, found
        config = now.loaded.config
        changed = list(_different(before.loaded.config, config))
        parts = [_change(key, config) for key in changed if not key.restart]
        parts += _rules_told(before.rules, now.rules)
        waiting = [key for key in _different(self._begun_with, config) if key.restart]
        if waiting:
            parts.append("needs a restart: " + ", ".join(key.name for key in waiting))
        return "; ".join(parts) or "nothing changed"


def _different(one: Config, other: Config) -> Iterator[Key]:
    for path, key in keys().items():
        if value_at(one, path) != value_at(other, path):
            yield key


def _change(key: Key, config: Config) -> str:
    return f"{key.name}: {written(key, value_at(config, key.path))}"


def _rules_told(before: Sequence[Rule], now: Sequence[Rule]) -> list[str]:
    old, new = ({rule.id: rule for rule in rules} for rules in (before, now))
    counts = {
        "changed": sum(id_ in old and not same(old[id_], rule) for id_, rule in new.items()),
        "new": len(new.keys() - old.keys()),
        "gone": len(old.keys() - new.keys()),
    }
    told = [f"{number} {word}" for word, number in counts.items() if number]
    return [f"rules: {', '.join(told)}"] if told else []


def lanes(config: Config) -> dict[str, float]:
    """Seconds by lane."""
    found = config.lanes
    return {
        "fast": found.fast,
        "normal": found.normal,
        "slow": found.slow,
        "firmware": found.firmware,
        "jobs": found.jobs,
    }


def recorder_limits(config: Config) -> Limits:
    """What the flight recorder may take."""
    told = config.recorder
    return Limits(told.window, told.max_bytes, told.disk_bytes, told.every)


def record_by(recorder: FlightRecorder, running: Running) -> None:
    """What the flight recorder may take from now on."""
    recorder.configure(recorder_limits(running.loaded.config))


def budget(config: Config) -> Budget:
    """What the observer may cost."""
    return Budget(config.budget.cpu, config.budget.memory)


def log_by(log: Log, running: Running) -> None:
    """What is said from now on, and how."""
    chosen = running.loaded.config.log
    log.follow(chosen.format, chosen.level)


def put_in_force(loop: Loop, judge: Judge, page: Page, pace: Pace, running: Running) -> None:
    """What the loop, its judge and the page go by from now on."""
    config = running.loaded.config
    judge.renew(running.rules, trust_untested_driver=config.trust_untested_driver)
    page.show(config.export.detail, job_labels=config.export.job_labels)
    if loop.schedule.configured["firmware"] != config.lanes.firmware:
        loop.reader.pace_firmware(config.lanes.firmware)
    pace.configure(lanes(config), quiet=config.profile.quiet, budget=budget(config))
