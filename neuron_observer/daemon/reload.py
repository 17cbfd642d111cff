"""SIGHUP: the configuration and the rules are read anew, and what changed is put in force.

A thread of its own reads and checks everything first; what is wrong changes nothing. What was read
is then put in force by the loop's thread, between two frames, so that nothing is seen half changed.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext, suppress
from queue import Empty
from threading import Thread
from typing import TYPE_CHECKING

from neuron_observer.errors import ObserverError
from neuron_observer.rules.rule import same

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from queue import SimpleQueue

    from neuron_observer.checks.judging import Judge
    from neuron_observer.collectors.own import LastReload
    from neuron_observer.daemon.pace import Pace
    from neuron_observer.daemon.plan import InForce, Setting
    from neuron_observer.exporters.page import Page
    from neuron_observer.log import Log
    from neuron_observer.loop import Loop
    from neuron_observer.model import Frame
    from neuron_observer.recording.flight import FlightRecorder
    from neuron_observer.rules.rule import Rule


_REFUSED = "reload_refused"


class Reloader:
    """Reads anew when it is asked to."""

    def __init__(
        self,
        running: InForce,
        read: Callable[[], InForce],
        put_in_force: Sequence[Callable[[InForce], None]],
        last: LastReload,
        log: Log,
        around: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """`put_in_force` is called in the loop's thread, with what is to hold from then on.

        `around` lasts as long as a reload does.
        """
        self.running = running  # what is in force
        self._begun_with = running.settings  # what needs a restart is still as it was then
        self._read = read
        self._put_in_force = put_in_force
        self._last = last
        self._log = log
        self._around = around
        self._next: InForce | None = None  # to be put in force
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
        for remark in found.remarks:
            self._log.warning("configuration", remark, about=remark)
        self._log.over(_REFUSED)
        self._log.info("reloaded", f"configuration reloaded: {self._told(found)}")
        self.running = found
        for change in self._put_in_force:
            self._fenced(change, found)

    def _fenced(self, change: Callable[[InForce], None], found: InForce) -> None:
        try:
            change(found)
        except Exception as error:  # noqa: BLE001 - the others are put in force all the same
            self._last.failed()
            self._log.over(_REFUSED)
            text = f"not all of it is in force: {type(error).__name__}: {error}"
            self._log.error(_REFUSED, text)

    def _told(self, now: InForce) -> str:
        settings = now.settings
        changed = _different(self.running.settings, settings)
        parts = [f"{name}: {one.text}" for name, one in changed.items() if not one.restart]
        parts += _rules_told(self.running.rules, now.rules)
        waiting = [
            name for name, one in _different(self._begun_with, settings).items() if one.restart
        ]
        if waiting:
            parts.append("needs a restart: " + ", ".join(waiting))
        return "; ".join(parts) or "nothing changed"


def _different(before: Mapping[str, Setting], now: Mapping[str, Setting]) -> dict[str, Setting]:
    """What is now, of the keys that are not as before."""
    return {name: setting for name, setting in now.items() if setting != before[name]}


def _rules_told(before: Sequence[Rule], now: Sequence[Rule]) -> list[str]:
    old, new = ({rule.id: rule for rule in rules} for rules in (before, now))
    counts = {
        "changed": sum(id_ in old and not same(old[id_], rule) for id_, rule in new.items()),
        "new": len(new.keys() - old.keys()),
        "gone": len(old.keys() - new.keys()),
    }
    told = [f"{number} {word}" for word, number in counts.items() if number]
    return [f"rules: {', '.join(told)}"] if told else []


def record_by(recorder: FlightRecorder, holds: InForce) -> None:
    """What the flight recorder may take from now on."""
    recorder.configure(holds.recorder)


def log_by(log: Log, holds: InForce) -> None:
    """What is said from now on, and how."""
    log.follow(*holds.log)


def put_in_force(loop: Loop, judge: Judge, page: Page, pace: Pace, holds: InForce) -> None:
    """What the loop, its judge and the page go by from now on."""
    judge.renew(holds.rules, trust_untested_driver=holds.trust_untested_driver)
    page.show(holds.detail, job_labels=holds.job_labels)
    if loop.schedule.configured["firmware"] != holds.lanes["firmware"]:
        loop.reader.pace_firmware(holds.lanes["firmware"])
    pace.configure(holds.lanes, quiet=holds.quiet, budget=holds.budget)
