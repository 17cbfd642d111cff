"""`bundle`: one file that `triage` reads on another machine."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING

import pytest

from neuron_observer.errors import InputError, UsageError
from tests.bundling.hosts import document, members
from tests.client.servers import answering
from tests.conftest import tree_file
from tests.daemon.daemons import faulty

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Result

SMALL = str(tree_file("trn2.3xlarge-2.30.2-busy"))


def test_from_one_machine_to_another(tmp_path: Path, call: Callable[..., Result]) -> None:
    """The name of the file on stdout; its findings and exit code are those of the node."""
    file = tmp_path / "b.tar.gz"
    made = call("bundle", "--host-root", SMALL, "--out", str(file))
    assert made.out == f"{file}\n"
    assert "neuron-ls: it attaches to the devices, so it is not run here" in made.err
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    node = call("findings", "--host-root", SMALL, "--format", "json")
    there = call("triage", str(file), "--format", "json")
    assert there.code == node.code
    found = [one["id"] for one in json.loads(there.out)["findings"]]
    assert found == [one["id"] for one in json.loads(node.out)["findings"]]
    assert call("triage", str(file)).out.startswith("HEALTHY: ")


def test_the_name_by_default_is_new_and_says_nothing(
    tmp_path: Path, call: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the folder where one is; nothing else is left there."""
    monkeypatch.chdir(tmp_path)
    name = call("bundle", "--host-root", SMALL).out.strip()
    assert [one.name for one in tmp_path.iterdir()] == [name]
    assert name.startswith("neuron-bundle-20")
    assert name.endswith(".tar.gz")


def test_of_a_daemon(tmp_path: Path, call: Callable[..., Result]) -> None:
    """By its socket; of one that reads another host nothing is looked at here."""
    file = tmp_path / "b.tar.gz"
    with answering(faulty().answers, tmp_path) as client:
        call("bundle", "--connect", str(client.address), "--out", str(file), "--redact", "all")
    node = faulty().get("/api/v1/findings")
    told = document(file.read_bytes(), "findings.json")
    assert told["verdict"] == node["verdict"] == "unhealthy"
    assert [one["id"] for one in told["findings"]] == [one["id"] for one in node["findings"]]
    serials = {one["entity"]["serial"] for one in told["findings"]} - {None}
    assert all(serial.startswith("5e71a1") for serial in serials)


def test_what_stands_for_what_stays_at_home(tmp_path: Path, call: Callable[..., Result]) -> None:
    """A file of its own, for its owner alone."""
    names, file = tmp_path / "names.json", tmp_path / "b.tar.gz"
    call("bundle", "--host-root", SMALL, "--redact", "all", "--names", str(names), "-o", str(file))
    table = json.loads(names.read_text(encoding="utf-8"))
    serial = next(one for one in table if one["kind"] == "serial")
    assert serial["stands_as"] == "5e71a10000000001"
    assert stat.S_IMODE(names.stat().st_mode) == 0o600
    assert all(serial["name"].encode() not in data for data in members(file.read_bytes()).values())


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--since", "yesterday"), "--since yesterday: no time"),
        (("--max-bytes", "5"), "its unit is missing"),
        (("--max-bytes", "1kB"), "from 100kB to 60MB"),
        (("--max-bytes", "1GB"), "from 100kB to 60MB"),
        (("--finding", "no-such"), "no finding 'no-such' stands"),
        (("--job", "no-such"), "there is no job 'no-such'"),
        (("--out", "/sys/b.tar.gz"), "nothing is written below /sys"),
        (("--names", "/proc/1/x"), "nothing is written below /sys or /proc"),
    ],
)
def test_calls_that_are_wrong(
    arguments: tuple[str, ...], why: str, tmp_path: Path, call: Callable[..., Result]
) -> None:
    """With what to do; and nothing is written."""
    out = () if "--out" in arguments else ("--out", str(tmp_path / "b"))
    with pytest.raises(UsageError) as error:
        call("bundle", "--host-root", SMALL, *arguments, *out)
    assert why in str(error.value)
    assert not list(tmp_path.iterdir())


def test_nothing_is_written_over(tmp_path: Path, call: Callable[..., Result]) -> None:
    """A bundle that is there may be the only one of its time."""
    file = tmp_path / "b"
    file.write_text("old")
    with pytest.raises(InputError, match="is there already"):
        call("bundle", "--host-root", SMALL, "--out", str(file))
    assert file.read_text() == "old"
