"""From a configuration to what a daemon goes by."""

from __future__ import annotations

from neuron_observer.cli.planning import recorder_limits
from neuron_observer.config.schema import Config
from neuron_observer.config.schema import Recorder as RecorderKeys
from neuron_observer.recording.flight import Limits


def test_limits_of_a_configuration_without_a_word_of_it() -> None:
    """Are those of the recorder itself; others are handed on."""
    assert recorder_limits(Config()) == Limits()
    told = RecorderKeys(window=60.0, max_bytes=10**6, disk_bytes=5, every=90.0)
    assert recorder_limits(Config(recorder=told)) == Limits(60.0, 10**6, 5, 90.0)
