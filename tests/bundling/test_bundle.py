"""Bundles: what the node found, another machine finds in its bundle."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from neuron_observer.bundle.unpack import is_bundle
from neuron_observer.bundling import Asked, bundle
from neuron_observer.bundling.narrow import Narrow
from neuron_observer.checks.judging import judge_by
from neuron_observer.client import Client
from neuron_observer.client.address import Address
from neuron_observer.clock import ManualClock
from neuron_observer.config import Sources
from neuron_observer.contract import instant
from neuron_observer.errors import DaemonError, UsageError
from neuron_observer.loop import Loop
from neuron_observer.model import Event, Place
from neuron_observer.observer import HostReader, Options
from neuron_observer.recording import encoding
from neuron_observer.recording.reader import opened
from neuron_observer.recording.tape import HostTape
from neuron_observer.recording.writer import header_row, recording_file
from neuron_observer.replay import Player
from neuron_observer.rules.memory import Memory, Word
from neuron_observer.sim.play import simulate
from neuron_observer.sim.scenario import load
from neuron_observer.sources.tapped import tapped
from neuron_observer.sources.workers import DirectWorkers
from neuron_observer.triage.report import Report, triage
from tests.bundling.hosts import WALL, asked, capture_of, captured, document, keep, made, members
from tests.client.servers import answering
from tests.conftest import tree_file
from tests.daemon.daemons import Simulated, faulty, rules
from tests.store.watched import Watched

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from neuron_observer.bundling import Bundled
    from neuron_observer.model import Frame

SMALL = str(tree_file("trn2.3xlarge-2.30.2-busy"))


def triaged(one: Bundled, folder: Path) -> Report:
    """What another machine finds in it."""
    file = folder / "b.tar.gz"
    file.write_bytes(one.data)
    return triage([str(file)])


def told(findings: Iterable[dict[str, Any]]) -> list[object]:
    """What must be the same here and there."""
    names = ("id", "entity", "severity", "confidence", "action", "if_confirmed", "state", "message")
    return [[one[name] for name in names] for one in findings]


# scenario → when its fault shows in two reads, and whether the kernel tells of it
SHOWN_AT_ONCE = {
    "component": (160.0, False),
    "device-missing": (160.0, False),
    "dma-abort": (160.0, True),
    "hbm-repair": (160.0, False),
    "hbm-unrepairable": (160.0, True),
    "init-error": (160.0, True),
    "off-the-bus": (160.0, False),
    "sram-error": (160.0, True),
}


@pytest.mark.parametrize("scenario", SHOWN_AT_ONCE)
def test_what_a_look_found_is_found_in_its_bundle(scenario: str, tmp_path: Path) -> None:
    """Findings and verdict, without a daemon; lines of the kernel log by their numbers."""
    begin, printed = SHOWN_AT_ONCE[scenario]
    one = made(captured(scenario, tmp_path, begin))
    node = document(one.data, "findings.json")
    report = triaged(one, tmp_path)
    there = report.document()
    assert told(there["findings"]) == told(node["findings"])
    assert [f for f in node["findings"] if f["id"] != "before-we-watched"]
    assert (there["verdict"], there["exit_code"]) == (node["verdict"], node["exit_code"])
    assert there["coverage"]["decided"] == node["coverage"]["decided"]
    lines = [e for f in there["findings"] for e in f["evidence"] if e["line"]]
    assert bool(lines) == printed
    log = members(one.data).get("kernel.log", b"").decode().splitlines()
    for evidence in lines:
        assert evidence["source"].endswith("b.tar.gz:kernel.log")
        assert evidence["value"] == log[evidence["line"] - 1]


# what only time can tell: scenario → seconds of watching until it stands
SHOWN_IN_TIME = {"corrected-ecc-storm": 60.0, "sram-error": 25.0, "reset-loop": 90.0}


@pytest.mark.parametrize("scenario", SHOWN_IN_TIME)
def test_what_a_daemon_found_is_found_in_its_bundle(scenario: str, tmp_path: Path) -> None:
    """As the API tells it, with events and the last snapshot; nothing is looked at here."""
    daemon = Simulated(scenario, begin=99.0)
    daemon.go(SHOWN_IN_TIME[scenario])
    with answering(daemon.answers, tmp_path) as client:
        one = bundle(asked("/", client=client, level="none"))
    daemon.close()
    node = daemon.get("/api/v1/findings?all=true")
    assert any(f["id"] != "before-we-watched" for f in node["findings"])
    there = triaged(one, tmp_path).document()
    assert told(there["findings"]) == told(node["findings"])
    assert there["verdict"] == node["verdict"]
    manifest = document(one.data, "manifest.json")
    assert manifest["source"]["by"] == "daemon"
    assert "capture.tsv.gz" not in members(one.data)
    assert any("the daemon reads simulation" in gone["why"] for gone in manifest["left_out"])


@pytest.mark.parametrize("scenario", ["sram-error", "corrected-ecc-storm"])
def test_of_a_dead_daemon_what_it_kept_counts(scenario: str, tmp_path: Path) -> None:
    """Since when, acknowledged by whom; what two reads cannot tell stands as it stood."""
    watched = Watched(tmp_path / "state", scenario, 95.0)
    watched.go(25.0)
    watched.judge.acknowledge("sram-uncorrectable", None, Word("alice (uid 1000)", WALL, "seen"))
    frame = watched.go(1.0)
    watched.kill()
    host = capture_of(watched.host, watched.clock, tmp_path)
    one = made(host, state=str(watched.state))
    found = {f["id"]: f for f in document(one.data, "findings.json")["findings"]}
    for before in frame.findings:
        if before.severity.value == "info":
            continue
        now = found[before.id]
        assert (now["state"], now["confidence"]) == (before.state.value, before.confidence.value)
        assert now["entity"]["serial"] == before.entity.serial
        assert now["first_seen"] == instant(before.first_seen)
    kinds = {e.get("kind") for e in document(one.data, "events.json")["events"]}
    assert kinds
    rows = document(one.data, "counters.json")["rows"]
    assert any(row["kept"] is not None and row["last"] is not None for row in rows)
    if scenario == "sram-error":
        assert found["sram-uncorrectable"]["note"] == "acknowledged by user-1 (uid 1000): seen"


def test_the_state_of_another_machine_counts_not(tmp_path: Path) -> None:
    """A directory that was copied from elsewhere tells nothing of this host."""
    key, metric = "11b2488e04750d9d", "device.sram.ecc_uncorrected"
    memory = Memory(
        keys={0: key}, baselines={(key, metric): 7}, counters={(key, metric, Place()): 7}
    )
    keep(tmp_path / "state", memory, "i-0123456789abcdef0", Event("x", Place(), WALL, "elsewhere"))
    host = tmp_path / "other.tsv"
    rows = tree_file("trn2.3xlarge-2.30.2-busy").read_text(encoding="utf-8").rstrip("\n")
    tag = '0444\tdevices/virtual/dmi/id/board_asset_tag\t"i-0fedcba9876543210\\n"'
    host.write_text(f"{rows}\n{tag}\n", encoding="utf-8")
    one = made(str(host), state=str(tmp_path / "state"))
    assert ("state of the daemon", "it is of another machine") in one.contents.left_out
    assert "elsewhere" not in members(one.data)["events.json"].decode()
    assert {row["kept"] for row in document(one.data, "counters.json")["rows"]} == {None}


def test_counters_before_and_after(tmp_path: Path) -> None:
    """Two reads without a daemon; unknown is null."""
    one = made(captured("training", tmp_path))
    told_ = document(one.data, "counters.json")
    rows = {(r["metric"], r["device"], r["core"]): r for r in told_["rows"]}
    moved = [row for row in rows.values() if row["difference"]]
    assert moved
    assert all(row["difference"] == row["last"] - row["first"] for row in moved)
    assert {row["kept"] for row in rows.values()} == {None}
    assert told_["first_at"] < told_["last_at"]


def test_a_bundle_reads_as_a_host_again(tmp_path: Path) -> None:
    """Its capture gives the findings once more, judged by whoever reads it."""
    one = made(captured("sram-error", tmp_path, 160.0))
    capture = tmp_path / "capture.tsv.gz"
    capture.write_bytes(members(one.data)["capture.tsv.gz"])
    again = made(str(capture))
    assert told(document(again.data, "findings.json")["findings"]) == told(
        document(one.data, "findings.json")["findings"]
    )


def test_the_same_host_gives_the_same_bundle(tmp_path: Path) -> None:
    """Byte for byte: order, modes, times, pseudonyms."""
    host = captured("training", tmp_path)
    one, two = made(host), made(host)
    assert one.data == two.data
    assert one.name == two.name
    assert one.name.startswith("neuron-bundle-20260829T104000Z-")


class TestNarrow:
    """A bundle about one finding or one job."""

    def test_one_finding(self, tmp_path: Path) -> None:
        """The others are said to be left out; the verdict stays the node's."""
        host = captured("sram-error", tmp_path, 160.0)
        one = made(host, narrow=Narrow(finding="sram-uncorrectable"))
        node = document(one.data, "findings.json")
        assert [f["id"] for f in node["findings"]] == ["sram-uncorrectable"]
        assert node["verdict"] == "unhealthy"
        assert ("1 findings", "not asked for: --finding, --job or --since") in one.contents.left_out
        devices = {e["device"] for e in document(one.data, "events.json")["events"]}
        assert devices <= {0, None}

    def test_a_finding_that_nobody_knows(self, tmp_path: Path) -> None:
        """What there is, is said."""
        host = captured("sram-error", tmp_path, 160.0)
        with pytest.raises(UsageError, match="no finding 'x' stands") as error:
            made(host, narrow=Narrow(finding="x"))
        assert "sram-uncorrectable" in error.value.remedy

    def test_one_job(self, tmp_path: Path) -> None:
        """With the findings of its devices and of the node."""
        one = made(captured("training", tmp_path), narrow=Narrow(job="pretrain"), level="none")
        (job,) = document(one.data, "jobs.json")["jobs"]
        assert job["run_id"] == "pretrain"


def test_a_daemon_of_another_machine_must_answer() -> None:
    """There is nothing else that could be told of it; one of this machine may be silent."""
    nobody = Client(Address("http", "127.0.0.1", 9), patience=0.5)
    with pytest.raises(DaemonError):
        bundle(asked("/", client=nobody, remote=True))
    one = made(SMALL, client=Client(Address("unix", path="/nowhere/x.sock"), patience=0.5))
    assert one.contents.left_out[0].what == "what a daemon knows"


def test_a_daemon_whose_frame_is_old_is_no_better_than_a_look(tmp_path: Path) -> None:
    """What is read now counts."""
    daemon = Simulated("sram-error")
    daemon.host.root = SMALL
    daemon.go(2.0)
    daemon.clock.advance(60.0)
    with answering(daemon.answers, tmp_path) as client:
        one = made(SMALL, client=client)
    daemon.close()
    assert any("its last frame is 6" in gone.why for gone in one.contents.left_out)
    assert document(one.data, "manifest.json")["source"]["by"] == "look"


def test_too_much_is_cut_from_the_end(tmp_path: Path) -> None:
    """The capture goes first, the findings never; what went is said, in README too."""
    host = captured("sram-error", tmp_path, 160.0)
    whole = made(host)
    small = made(host, most=61_000)
    assert len(small.data) <= 61_000 < len(whole.data) + 40_000
    packed = members(small.data)
    assert "capture.tsv.gz" not in packed
    assert told(triaged(small, tmp_path).document()["findings"]) == told(
        document(whole.data, "findings.json")["findings"]
    )
    readme = packed["README.txt"].decode()
    assert "capture.tsv.gz: its" in readme
    assert "are over --max-bytes" in readme
    with pytest.raises(UsageError, match="the findings alone are more"):
        made(host, most=1000)


def test_a_broken_configuration_is_told_and_prevents_nothing(tmp_path: Path) -> None:
    """Somebody who cannot start the daemon needs a bundle all the more."""
    config = tmp_path / "config.yaml"
    config.write_text("lanes:\n  fast: soon\n", encoding="utf-8")
    one = bundle(Asked(SMALL, str(config), Sources(str(config)), ManualClock(WALL)))
    text = members(one.data)["configuration.txt"].decode()
    assert text.startswith("wrong: ")
    assert "config.yaml:2" in text


def test_nothing_of_neuron_is_an_answer_too(tmp_path: Path) -> None:
    """On a machine without devices: a bundle that says so."""
    host = tmp_path / "host.tsv"
    host.write_text('#host ["proc/uptime", "0444", "5.0 5.0\\\\n"]\n', encoding="utf-8")
    one = made(str(host))
    assert document(one.data, "doctor.json")["neuron_host"] is False
    report = triaged(one, tmp_path)
    assert report.document()["verdict"] == document(one.data, "findings.json")["verdict"]


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + bytes(600)])
def test_a_state_that_cannot_be_read_is_told(content: bytes, tmp_path: Path) -> None:
    """Empty, foreign, broken: and never changed."""
    (tmp_path / "state.db").write_bytes(content)
    one = made(SMALL, state=str(tmp_path))
    assert any(gone.what == "state of the daemon" for gone in one.contents.left_out)
    assert (tmp_path / "state.db").read_bytes() == content
    assert [one.name for one in tmp_path.iterdir()] == ["state.db"]


def test_recordings_the_newest_three_damaged_ones_told(tmp_path: Path) -> None:
    """Links are not followed."""
    folder = tmp_path / "state/recordings"
    folder.mkdir(parents=True)
    for number in range(5):
        file = folder / f"r{number}.nobs.gz"
        file.write_text('#capture {"x": 1}\n')
        os.utime(file, (number, number))
    (folder / "broken.nobs.gz").write_bytes(b"\x1f\x8bxxx")
    (folder / "unfinished.nobs.gz.part").write_text("x")
    (folder / "link.nobs.gz").symlink_to("/etc/passwd")
    one = made(SMALL, state=str(tmp_path / "state"))
    kept = [name for name in members(one.data) if name.startswith("recordings/")]
    assert sorted(kept) == ["recordings/r3.nobs.gz", "recordings/r4.nobs.gz"]
    whys = {gone.what: gone.why for gone in one.contents.left_out}
    assert "3 older recordings" in whys
    assert "is damaged" in whys["recording broken.nobs.gz"]


def test_a_recording_of_now_where_there_is_a_recorder(tmp_path: Path) -> None:
    """A daemon without one, and no daemon at all, are said."""
    with answering(faulty().answers, tmp_path) as client:
        one = bundle(asked("/", client=client, dump=True))
    two = made(SMALL, dump=True)
    whys = [g.why for b in (one, two) for g in b.contents.left_out if "--dump" in g.what]
    assert len(whys) == 2
    assert whys[1] == "no daemon answered"


def test_a_capture_that_cannot_be_made_prevents_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drivers whose reads hang are read by a process of its own; here it cannot be started."""
    module = tmp_path / "host/sys/module/neuron"
    module.mkdir(parents=True)
    (module / "version").write_text("2.24.7.0\n")
    monkeypatch.setattr("sys.executable", str(tmp_path / "nothing"))
    one = made(str(tmp_path / "host"))
    assert "findings.json" in members(one.data)
    (why,) = [g.why for g in one.contents.left_out if g.what == "capture.tsv.gz"]
    assert "the host cannot be read for it: [Errno 2]" in why


def test_the_manifest_tells_every_member() -> None:
    """With its digest; and it is a bundle by its first bytes."""
    one = made(SMALL)
    packed = members(one.data)
    listed = {m["name"]: m for m in document(one.data, "manifest.json")["members"]}
    assert listed.keys() == packed.keys() - {"manifest.json", "README.txt"}
    for name, member in listed.items():
        assert member["sha256"] == hashlib.sha256(packed[name]).hexdigest()
        assert member["bytes"] == len(packed[name])
        assert member["about"] in packed["README.txt"].decode()
    assert is_bundle(gzip.decompress(one.data)[:512])


def test_with_a_shared_daemon_the_events_are_the_daemons(tmp_path: Path) -> None:
    """The log of what changed, as the API has it."""
    with answering(faulty().answers, tmp_path) as client:
        one = bundle(asked("/", client=client, level="none"))
    events = document(one.data, "events.json")["events"]
    assert events == json.loads(json.dumps(faulty().get("/api/v1/events?limit=2000")["events"]))


def test_a_recording_is_replayed_from_its_bundle(tmp_path: Path) -> None:
    """With all names replaced the same findings come of it."""
    file = tmp_path / "state/recordings/20260829T104000Z-sram.nobs.gz"
    file.parent.mkdir(parents=True)
    clock = ManualClock(WALL)
    host = simulate(load("sram-error", instance="trn2.3xlarge"), clock, begin=99.0)
    with recording_file(str(file)) as out:
        tape = HostTape(out.take)
        reader = HostReader(
            tapped(host, tape),
            clock,
            Options(kernel_log=True),
            workers=lambda host, clock, _: DirectWorkers(host, clock),
        )
        out.write(b"".join([encoding.packed([header_row(reader)]), *tape.base()]))
        loop = Loop(reader)
        for _ in range(60):
            clock.advance(0.25)
            loop.tick()
        tape.flush()
        loop.close()
    one = made(SMALL, state=str(tmp_path / "state"), level="all")
    again = tmp_path / "again.nobs.gz"
    again.write_bytes(members(one.data)["recordings/20260829T104000Z-sram.nobs.gz"])
    found = [
        [(f.id, f.entity.device, f.confidence) for f in _replayed(str(name)).findings]
        for name in (file, again)
    ]
    assert found[0] == found[1]
    assert "sram-uncorrectable" in {name for name, _, _ in found[1]}


def _replayed(file: str) -> Frame:
    """The last frame of a recording."""
    player = Player(opened(file), lambda one_shot: judge_by(rules(), one_shot=one_shot))
    last = None
    while frame := player.step():
        last = frame
    player.close()
    assert last is not None
    return last
