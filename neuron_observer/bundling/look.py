"""A look of one's own at the host: two reads, what doctor says, the kernel log, a capture."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from neuron_observer.bundle.rows import packed
from neuron_observer.checks.judging import judge_by, look
from neuron_observer.cli.configured import config_of
from neuron_observer.cli.doctor import document as doctor_document
from neuron_observer.cli.hosts import open_reader, rules_of
from neuron_observer.collectors.plan import reads_can_block
from neuron_observer.doctor import examine, is_neuron_host
from neuron_observer.errors import ConfigError
from neuron_observer.observer import ALL_LANES
from neuron_observer.recording.capture import Capture
from neuron_observer.sources.choice import choose_workers
from neuron_observer.sources.hostfs import DirectoryFs, LoggingHost
from neuron_observer.sources.kernel import open_kernel_log
from neuron_observer.sources.listing import ListingFs
from neuron_observer.store.origin import origin_of
from neuron_observer.store.rebasing import rebased

if TYPE_CHECKING:
    from collections.abc import Iterator

    from neuron_observer.bundle.contents import Contents
    from neuron_observer.bundle.redaction import Redactor
    from neuron_observer.bundling import Asked
    from neuron_observer.bundling.kept import Kept
    from neuron_observer.checks.judging import Judge
    from neuron_observer.clock import Clock
    from neuron_observer.collectors.topology import Topology
    from neuron_observer.model import Frame, Snapshot
    from neuron_observer.rules.memory import Memory
    from neuron_observer.sources.hostfs import HostFs
    from neuron_observer.sources.lines import LineSource

LANES = tuple(lane for lane in ALL_LANES if lane != "expensive")
_PAUSE = 1.0  # seconds between two passes of the capture
_BATCH, _MOST_LINES = 10_000, 200_000  # of the kernel log


class Looked(NamedTuple):
    """What was seen."""

    host: HostFs
    clock: Clock
    frame: Frame
    reads: tuple[Snapshot, ...]
    topology: Topology
    adapters: list[dict[str, Any]]
    doctor: dict[str, Any]
    kernel: list[str]
    excerpt: list[str]  # of it, as it goes into the bundle; filled in later


def look_at(asked: Asked, kept: Kept, contents: Contents) -> Looked:
    """Look at the host; what people said and what was kept counts, as in the daemon."""
    configured = _configured(asked)
    reader = open_reader(
        asked.host_root,
        configured,
        all_devices=asked.all_devices,
        kernel_log=True,
        one_shot=True,
    )
    try:
        memory = _memory(kept, reader.host)
        seen = look(reader, partial(_judge, asked, configured, memory), LANES)
        report = examine(reader, seen.frame.snapshot)
        topology = reader.topology
        places = reader.machine.efa.efa_map() if reader.machine else ()
    finally:
        reader.close()
    neuron = is_neuron_host(topology)
    uncovered = seen.frame.health.coverage.not_covered if neuron else ()
    return Looked(
        reader.host,
        reader.clock,
        seen.frame,
        seen.reads,
        topology,
        [place._asdict() for place in places],
        doctor_document(report, uncovered, neuron=neuron),
        _kernel(asked, reader.host, contents),
        [],
    )


def _configured(asked: Asked) -> str | None:
    """A broken configuration is told in a member of its own; it must not prevent the bundle."""
    try:
        config_of(asked.config_file)
    except ConfigError:
        return None
    return asked.config_file


def _judge(asked: Asked, configured: str | None, memory: Memory | None) -> Judge:
    config = config_of(configured)
    trusted = config is not None and config.trust_untested_driver
    rules = rules_of(config, asked.rules)
    return judge_by(rules, one_shot=True, trust_untested_driver=trusted, memory=memory)


def _memory(kept: Kept, host: HostFs) -> Memory | None:
    """What was kept of this very machine, made fit for now; of another one nothing counts."""
    if kept.origin is None or kept.is_of_another(host):
        return None
    return rebased(kept.memory, kept.origin, origin_of(host))


def _kernel(asked: Asked, host: HostFs, contents: Contents) -> list[str]:
    if isinstance(host, ListingFs):
        return [line for one in host.listing.passes[: host.number + 1] for line in one.kernel]
    source: LineSource
    try:
        if isinstance(host, LoggingHost):
            source = host.kernel_log()
        elif isinstance(host, DirectoryFs):
            source = open_kernel_log(asked.host_root)
        else:
            return []
        lines = _lines(source)
        if source.error:
            contents.leave_out("kernel log", f"{source.error}; root or CAP_SYSLOG brings it")
    except OSError as error:
        contents.leave_out("kernel log", f"{error.strerror}; root or CAP_SYSLOG brings it")
        return []
    source.close()
    return lines


def _lines(source: LineSource) -> list[str]:
    found: list[str] = []
    while (lines := source.poll(_BATCH)) and len(found) < _MOST_LINES:
        found += [line.decode("utf-8", "replace") for line in lines]
    return found


def captured(looked: Looked, redactor: Redactor) -> bytes:
    """The host in the form of `capture`, redacted: two passes, processes, the kernel's excerpt."""
    blocking = reads_can_block(looked.topology.version)
    workers = choose_workers(looked.host, looked.clock, blocking)
    try:
        return packed(redactor, _rows(looked, workers))
    finally:
        workers.close()


def _rows(looked: Looked, workers: Any) -> Iterator[str]:
    capture = Capture(looked.host, looked.clock, workers, jobs=True, scrub=lambda line: line)
    yield capture.header()
    yield from capture.one_pass()
    yield from capture.text_rows("kernel", looked.excerpt)
    looked.clock.wait(_PAUSE)
    yield from capture.one_pass()
