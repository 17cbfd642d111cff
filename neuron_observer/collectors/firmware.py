"""The firmware lane: registers that are read over PCIe, each device on its own and by a deadline.

A read of a sick device can block for more than a minute (drivers up to 2.24.7) and then print 0.
So a device that is late, slow or without a serial number is *not answering*: it is asked less and
less often, its values are missing, and no other device waits for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuron_observer.catalogue import METRICS
from neuron_observer.collectors import guards
from neuron_observer.collectors.batching import COUNT_BYTES, Absent, BatchName, FileBatch
from neuron_observer.model import Batch, Missing, Place, Why
from neuron_observer.sources.workers import Request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neuron_observer.clock import Clock
    from neuron_observer.collectors.plan import Plan
    from neuron_observer.collectors.topology import DeviceTree
    from neuron_observer.model import Cell
    from neuron_observer.sources.hostfs import HostFs
    from neuron_observer.sources.workers import Answer, Workers

PERIOD = 10.0  # seconds
LONGEST_BACK_OFF = 300.0  # seconds
SLOW_READ = 0.1  # seconds; a healthy register takes microseconds
BLOCKED_READ = 0.9  # seconds; a blocking driver retries for whole seconds before it prints 0
AWAY, LAST_CHANCE = 1.0, 0.05  # seconds since the last poll; for answers that came meanwhile
SLOW_ANSWER = 1.0  # seconds without an answer, after which it is told that one is waited for
READ_SECONDS = METRICS["device.firmware.read_seconds"]
ANSWERING = METRICS["device.firmware.answering"]
_PENDING = Missing(Why.NOT_YET, "not read yet")
_IN_RESET = Missing(Why.NOT_YET, "the device is being reset")


class _State:
    """How one device has been answering."""

    def __init__(self) -> None:
        self.failures = 0
        self.asked_at = 0.0  # monotonic, of the read that is owed
        self.due_at = 0.0  # monotonic
        self.owed = False  # no answer yet, as far as we have looked
        self.told = False  # that an answer is waited for
        self.last: Batch | None = None

    def slow(self, now: float) -> bool:
        """Whether it must be told now that an answer takes long."""
        return self.owed and not self.told and now - self.asked_at >= SLOW_ANSWER


class FirmwareCollector:
    """Firmware registers of all devices."""

    name = "firmware"
    kept = 0

    def __init__(
        self,
        host: HostFs,
        clock: Clock,
        workers: Workers,
        plans: Mapping[int, tuple[DeviceTree, Plan]],
        deadline: float = PERIOD,
        period: float = PERIOD,
    ) -> None:
        self._host = host
        self._clock = clock
        self._workers = workers
        self._deadline = deadline
        self.period = period
        self._batches: dict[int, FileBatch] = {}
        self._requests: dict[int, Request] = {}
        self._states: dict[int, _State] = {}
        self._reset_files: dict[int, str] = {}
        self._looked_at = clock.monotonic()
        self.reading = False  # whether a register was read during the last poll
        for index, (device, plan) in plans.items():
            found = device.tree.found.get((None, "reset"), [])
            if len(found) == 1:
                self._reset_files[index] = f"{device.path}/{found[0]}"
            absent = [Absent(spec, Place(index), _PENDING) for spec in (READ_SECONDS, ANSWERING)]
            batch = FileBatch(
                BatchName(self.name, "firmware", index),
                host,
                device.path,
                plan.files(),
                absent=[*plan.absent, *absent],
                guard=guards.registers,
            )
            self._batches[index] = batch
            self._requests[index] = Request(device.path, batch.paths, batch.limits)
            self._states[index] = _State()

    def poll(self, *, wait: float | None = None) -> list[Batch]:
        """Ask every device that is due; give what came back, and what is late.

        A one-shot waits until the deadline, once a read. With `wait` 0 nothing waits: a read stays
        owed over polls, and is late once its deadline has passed.
        """
        self.reading = any(state.owed for state in self._states.values())
        batches = self._gathered(0.0)
        now = self._clock.monotonic()
        away = now - self._looked_at
        for index, state in self._states.items():
            if state.due_at > now:
                continue
            if not state.owed and self._in_reset(index):
                state.due_at = now + PERIOD
                batches.append(self._batches[index].missing(_IN_RESET, now))
            elif self._workers.submit(index, self._requests[index]):
                state.owed, state.asked_at, state.due_at = True, now, now + self._deadline
                state.told = False
                self.reading = True
        batches += self._gathered(self._deadline if wait is None else wait, since=now)
        now = self._clock.monotonic()
        late = [i for i, state in self._states.items() if state.owed and state.due_at <= now]
        if late and away > AWAY:  # we were stopped, and perhaps not they but we are late
            batches += self._taken(self._workers.gather(late, LAST_CHANCE))
        batches += [self._batch(index, None) for index in late if self._states[index].owed]
        self._looked_at = self._clock.monotonic()
        return batches + [self._waiting(i) for i, state in self._states.items() if state.slow(now)]

    def _waiting(self, index: int) -> Batch:
        """A read takes long, though its deadline is not over: what was read before stays so long.

        That it was read, and when, is as before; only that an answer is waited for is new.
        """
        state, now = self._states[index], self._clock.monotonic()
        state.told = True
        waited = now - state.asked_at
        if state.last is None:
            reason = Missing(Why.STALE, f"the read takes long: {waited:.1f} s so far")
            return self._marked(self._batches[index].missing(reason, now), waited, answering=False)
        marked = self._marked(state.last, waited, answering=False)
        columns = marked.layout.columns
        rows = tuple(columns[spec.id].start for spec in (READ_SECONDS, ANSWERING))
        return marked._replace(changed=rows)

    def _gathered(self, seconds: float, *, since: float = 0.0) -> list[Batch]:
        """Batches of the reads asked for at `since` or later that come back within `seconds`."""
        states = self._states.items()
        owed = [index for index, state in states if state.owed and state.asked_at >= since]
        return self._taken(self._workers.gather(owed, seconds)) if owed else []

    def _taken(self, answers: Mapping[int, Answer]) -> list[Batch]:
        return [self._batch(index, answer) for index, answer in answers.items()]

    def _in_reset(self, index: int) -> bool:
        """Whether the device says that it is being reset: its registers then read 0xdeadbeef.

        The file is readable by root only, and answers from memory.
        """
        path = self._reset_files.get(index)
        if path is None:
            return False
        try:
            return self._host.read(path, COUNT_BYTES).strip() == b"0"
        except OSError:
            return False

    @property
    def reading_since(self) -> float | None:
        """Since when (monotonic) a read has had no answer; None: all have answered."""
        owed = [state.asked_at for state in self._states.values() if state.owed]
        return min(owed, default=None)

    def _batch(self, index: int, answer: Answer | None) -> Batch:
        state, batch = self._states[index], self._batches[index]
        state.owed = answer is None
        now = self._clock.monotonic()
        if answer is None:
            state.told = True
            waited = now - state.asked_at
            result = batch.missing(Missing(Why.STALE, f"no answer for {waited:.1f} s"), now)
            return self._judged(index, result, waited, answering=False)
        longest = max(answer.seconds, default=0.0)
        result = batch.take(
            answer.contents, answer.read_at, sum(answer.seconds), self._clock.wall()
        )
        slow = [
            result.layout.rows[target]
            for target, seconds in zip(_targets(batch), answer.seconds, strict=True)
            if seconds > BLOCKED_READ
        ]
        cells = guards.slow_zeros(result.layout, result.cells, slow)
        serial = _serial(batch, cells, index)
        unreadable = isinstance(serial, Missing) and serial.why is Why.FAILED
        answering = longest <= SLOW_READ and not unreadable
        return self._judged(index, result._replace(cells=cells), longest, answering=answering)

    def _judged(self, index: int, batch: Batch, seconds: float, *, answering: bool) -> Batch:
        state = self._states[index]
        state.failures = 0 if answering else state.failures + 1
        pause = min(PERIOD * 2**state.failures, LONGEST_BACK_OFF) if state.failures else self.period
        state.due_at = self._clock.monotonic() + pause
        state.last = self._marked(batch, seconds, answering=answering)
        return state.last

    def _marked(self, batch: Batch, seconds: float, *, answering: bool) -> Batch:
        """With what is said of the read itself."""
        cells = batch.cells.copy()
        place = Place(batch.device)
        cells[batch.layout.rows[READ_SECONDS.id, place]] = round(seconds, 6)
        cells[batch.layout.rows[ANSWERING.id, place]] = int(answering)
        return batch._replace(cells=cells)

    def close(self) -> None:
        """Let the workers go."""
        self._workers.close()


def _targets(batch: FileBatch) -> list[tuple[str, Place]]:
    """The first cell of each file, in the files' order."""
    return [batch.first_target(number) for number in range(len(batch.paths))]


def _serial(batch: FileBatch, cells: list[Cell], index: int) -> Cell | None:
    row = batch.layout.rows.get(("device.serial", Place(index)))
    return None if row is None else cells[row]
