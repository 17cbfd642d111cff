"""`daemon` as a process: what it says, what it serves, how it ends, what Prometheus makes of it."""

from __future__ import annotations

import http.client
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from neuron_observer.clock import SystemClock
from neuron_observer.errors import UsageError
from neuron_observer.exporters.listener import Address, bound, listen
from tests.conftest import tree_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.cli.conftest import Result

SMALL = str(tree_file("trn2.3xlarge-2.30.2-busy"))
PATIENCE = 30.0  # seconds for a process to begin on a busy machine
PROMTOOL, PROMETHEUS = shutil.which("promtool"), shutil.which("prometheus")


def said(process: subprocess.Popen[str], pattern: str) -> re.Match[str]:
    """The first line of standard error, which must match."""
    assert process.stderr
    assert select.select([process.stderr], [], [], PATIENCE)[0]
    line = process.stderr.readline()
    match = re.fullmatch(pattern, line.rstrip("\n"))
    assert match, line
    return match


@contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A process that is gone at the end in any case."""
    command = [sys.executable, "-m", "neuron_observer", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def daemon(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], Address]]:
    """A daemon on a port of its own, ready to answer."""
    options = ("--listen", "127.0.0.1:0", "--host-root", SMALL, *arguments)
    with started("daemon", *options) as process:
        head = said(
            process, r"neuron-observer: \S+: http://([\d.]+):(\d+)/metrics(?:, unix:\S+)?, host .*"
        )
        address = Address(head[1], int(head[2]))
        wait_for(lambda: get(address, "/readyz")[0] == 200)
        yield process, address


def wait_for(condition: Callable[[], bool]) -> None:
    """Ask again until it holds."""
    clock = SystemClock()
    deadline = clock.monotonic() + PATIENCE
    while not condition():
        assert clock.monotonic() < deadline
        clock.wait(0.05)


def get(address: Address, path: str, **headers: str) -> tuple[int, bytes]:
    """Status and body."""
    connection = http.client.HTTPConnection(address.host, address.port, timeout=10)
    connection.request("GET", path, headers={"Connection": "close", **headers})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body


def test_it_stops_after_it_was_stopped() -> None:
    """A signal that waits while a process is stopped goes to any thread, and is heard."""
    for _ in range(3):
        with daemon() as (process, _):
            for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGCONT):
                process.send_signal(number)
            process.communicate(timeout=10)
            assert process.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_and_stops(number: signal.Signals) -> None:
    """Pages while it runs; on a signal it ends within 2 s, with 0, and said nothing in between."""
    with daemon("--detail", "device") as (process, address):
        status, page = get(address, "/metrics")
        assert status == 200
        assert b"neuron_device_identity_info{" in page
        assert b"neuron_core_hbm_used_bytes" not in page
        clock = SystemClock()
        begin = clock.monotonic()
        process.send_signal(number)
        _, rest = process.communicate(timeout=10)
        assert clock.monotonic() - begin <= 2.0
        assert process.returncode == 0
        assert rest == "neuron-observer: stopped\n"


def test_it_judges() -> None:
    """The verdict of the rules, once the registers were read."""
    with daemon("--detail", "node") as (_, address):
        well = b'neuron_health{neuron_health="healthy"} 1'
        wait_for(lambda: well in get(address, "/metrics")[1])
        assert b"verdict healthy: nothing found" in get(address, "/")[1]


def test_the_command_line_asks_it(call: Callable[..., Result], tmp_path: Path) -> None:
    """By its unix socket, which is gone when it has ended."""
    path = tmp_path / "o.sock"
    with daemon("--socket", str(path)) as (process, address):
        told = [
            json.loads(call("check", "--format", "json", "--connect", url).out)
            for url in (f"unix://{path}", f"http://{address}")
        ]
        assert {one["source"] for one in told} == {"daemon"}
        assert {one["host_root"] for one in told} == {SMALL}
        assert call("snapshot", "--connect", f"unix://{path}").out.startswith("# verdict ")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=10)
    assert not path.exists()


def test_it_tells_jobs() -> None:
    """Which job is on which device, where that is asked for."""
    with daemon("--job-labels", "--host-root", str(tree_file("proc/torchrun"))) as (_, address):
        wait_for(lambda: b'job_kind="training"' in get(address, "/metrics")[1])
        page = get(address, "/metrics")[1].decode()
    assert 'job_name="train.py llama-7b"' in page


def test_port_in_use() -> None:
    """Says which port and what to do, and ends with 64 before it reads the host."""
    with listen(Address("127.0.0.1", 0)) as other:
        address = bound(other)
        with started("daemon", "--listen", str(address), "--host-root", SMALL) as process:
            _, error = process.communicate(timeout=PATIENCE)
    assert process.returncode == 64
    assert f"{address}: Address already in use" in error
    assert f"sport = :{address.port}" in error


def test_bad_calls(call: Callable[..., Result]) -> None:
    """An address without a port, a root that is not there."""
    with pytest.raises(UsageError, match="no HOST:PORT"):
        call("daemon", "--listen", "localhost")
    with pytest.raises(Exception, match="no such directory or file"):
        call("daemon", "--listen", "127.0.0.1:0", "--host-root", "/nowhere")


if PROMTOOL:

    @pytest.mark.parametrize("detail", ["core", "full"])
    def test_promtool_has_nothing_to_say(detail: str) -> None:
        """The page passes `promtool check metrics` without a remark."""
        with daemon("--detail", detail) as (_, address):
            page = get(address, "/metrics")[1]
        command = [str(PROMTOOL), "check", "metrics"]
        checked = subprocess.run(command, input=page, capture_output=True, check=False)
        assert (checked.returncode, checked.stdout, checked.stderr) == (0, b"", b"")


if PROMETHEUS:
    CONFIG = """
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
  - job_name: neuron
    static_configs: [{{targets: ['{target}']}}]
"""

    @contextmanager
    def prometheus(target: Address, folder: Path) -> Iterator[Address]:
        """A Prometheus of its own that scrapes the target; ended by its own pid."""
        config = folder / "prometheus.yml"
        config.write_text(CONFIG.format(target=target), encoding="utf-8")
        with listen(Address("127.0.0.1", 0)) as free:
            address = bound(free)
        command = [
            str(PROMETHEUS),
            f"--config.file={config}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address={address}",
            "--log.level=error",
        ]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL, cwd=folder) as process:
            try:
                yield address
            finally:
                os.kill(process.pid, signal.SIGTERM)

    def query(address: Address, expression: str) -> list[Any]:
        """The result of an instant query; none while it does not answer yet."""
        try:
            status, body = get(address, f"/api/v1/query?query={expression}")
        except OSError:
            return []
        found: list[Any] = json.loads(body)["data"]["result"] if status == 200 else []
        return found

    def test_a_real_prometheus_scrapes_it(tmp_path: Path) -> None:
        """Every series of the page arrives, with types that it knows; the scrape is up."""
        with daemon() as (_, target), prometheus(target, tmp_path) as address:
            wait_for(lambda: bool(query(address, "neuron_observer_series")))
            [series] = query(address, "neuron_observer_series")
            [scraped] = query(address, "scrape_samples_scraped")
            assert scraped["value"][1] == series["value"][1]
            assert query(address, "up")[0]["value"][1] == "1"
            used = query(address, "neuron_core_hbm_used_bytes")
            assert {one["metric"]["neuron_core"] for one in used} == set("01234567")
            wait_for(lambda: bool(query(address, 'neuron_health{neuron_health="healthy"}==1')))
            kinds = json.loads(get(address, "/api/v1/metadata")[1])["data"]
            assert kinds["neuron_core_inferences"][0]["type"] == "counter"
            assert kinds["neuron_device_identity"][0]["type"] == "info"
