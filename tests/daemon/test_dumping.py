from __future__ import annotations

from concurrent.futures import Future

import pytest

from neuron_observer.config.schema import Config
from neuron_observer.config.schema import Recorder as RecorderKeys
from neuron_observer.daemon.dumping import Dumping
from neuron_observer.daemon.reload import recorder_limits
from neuron_observer.errors import UsageError
from neuron_observer.recording.flight import FlightRecorder, Limits
from neuron_observer.rules.memory import Word
from neuron_observer.store.acts import Act, Done

WORD = Word("root (uid 0)", 1.0, "it looks odd")


def others(act: Act) -> Future[Done]:
    """Who takes all other acts."""
    future: Future[Done] = Future()
    future.set_result(Done(f"{act.verb} done", kept=True))
    return future


class Recorder(FlightRecorder):
    """A recorder whose answer a test gives."""

    def __init__(self) -> None:
        super().__init__(Limits(), None)
        self.asked: dict[str, Future[str]] = {}

    def request(self, why: str) -> Future[str]:
        """Remember who asked."""
        return self.asked.setdefault(why, Future())


def test_other_acts_go_on() -> None:
    """Whether there is a recorder or not."""
    assert Dumping(None, others)(Act("ack", WORD, "x")).result(0).text == "ack done"


def test_a_dump_is_asked_for_with_who_and_why() -> None:
    """And the file is told."""
    recorder = Recorder()
    done = Dumping(recorder, others)(Act("dump", WORD))
    recorder.asked["root (uid 0): it looks odd"].set_result("/x/y.nobs.gz")
    assert done.result(0) == Done("recorded: /x/y.nobs.gz", kept=True)


def test_what_cannot_be_written_is_told() -> None:
    """With the reason."""
    recorder = Recorder()
    done = Dumping(recorder, others)(Act("dump", WORD))
    recorder.asked.popitem()[1].set_exception(OSError("No space left on device"))
    with pytest.raises(UsageError, match="nothing was recorded: No space left"):
        done.result(0)


def test_limits_of_a_configuration_without_a_word_of_it() -> None:
    """Are those of the recorder itself; others are handed on."""
    assert recorder_limits(Config()) == Limits()
    told = RecorderKeys(window=60.0, max_bytes=10**6, disk_bytes=5, every=90.0)
    assert recorder_limits(Config(recorder=told)) == Limits(60.0, 10**6, 5, 90.0)


def test_without_a_recorder() -> None:
    """At once, with what would help."""
    with pytest.raises(UsageError, match="flight recorder is off") as caught:
        Dumping(None, others)(Act("dump", WORD))
    assert "recorder.enabled" in caught.value.remedy
