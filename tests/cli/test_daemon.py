"""`daemon` as a process: what it says, what it serves, how it ends, what Prometheus makes of it."""

from __future__ import annotations

import http.client
import json
import os
import re
import select
import shutil
import signal
import socket
import ssl
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from neuron_observer.clock import SystemClock
from neuron_observer.errors import ConfigError, UsageError
from neuron_observer.exporters.listener import Address, bound, listen
from tests.conftest import tree_file
from tests.exporters.certificates import made
from tests.exporters.web.test_passwords import USERS, basic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.cli.conftest import Result

LOGFMT = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\S*)')
SMALL = str(tree_file("trn2.3xlarge-2.30.2-busy"))
PATIENCE = 30.0  # seconds for a process to begin on a busy machine
PROMTOOL, PROMETHEUS = shutil.which("promtool"), shutil.which("prometheus")


def said(process: subprocess.Popen[str], pattern: str) -> re.Match[str]:
    """The next line of the log that tells of what the pattern begins with, and must match it."""
    assert process.stderr
    event = pattern.partition(" ")[0]
    line = ""
    while event not in line:
        assert select.select([process.stderr], [], [], PATIENCE)[0], line
        line = process.stderr.readline()
    match = re.search(pattern, line.rstrip("\n"))
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
        head = said(process, r"event=started .*url=\W?http://([\d.]+):(\d+)/metrics")
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
    """Pages while it runs; ended within 2 s of a signal, with 0; it said only what it found."""
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
        *lines, last = [dict(LOGFMT.findall(line)) for line in rest.splitlines()]
        assert last["event"] == "stopped"
        told = {line["event"] for line in lines}
        assert told <= {"finding", "finding_over", "verdict", "kept_in_memory"}
        assert len(lines) < 6


def test_another_takes_its_place() -> None:
    """An upgrade: the port is free at once, though a client was connected. Nobody hears them."""
    with listen(Address("127.0.0.1", 0)) as free:
        address = bound(free)
    options = ("--listen", str(address), "--host-root", SMALL)
    ours = (sys.executable, "-m", "neuron_observer", "daemon", *options)
    for _ in range(2):
        with subprocess.Popen(["sh", "-c", 'exec "$@" 2>&-', "sh", *ours]) as process:
            try:
                wait_for(lambda: answers(address))
                client = http.client.HTTPConnection(address.host, address.port, timeout=10)
                client.request("GET", "/metrics")
                assert b"neuron_core_" in client.getresponse().read()
                process.terminate()
                assert process.wait(5) == 0
            finally:
                process.kill()
            client.close()


def answers(address: Address) -> bool:
    """Whether somebody is there and ready."""
    try:
        return get(address, "/readyz")[0] == 200
    except OSError:
        return False


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


def test_a_hangup_reads_the_configuration_anew(tmp_path: Path) -> None:
    """A wrong file changes nothing; a right one is in force with the next frame; nothing ends."""
    file = tmp_path / "config.yaml"
    file.write_text("export: {detail: core}\n")
    with daemon("--config", str(file)) as (process, address):
        file.write_text("export: {detail: none}\n")
        process.send_signal(signal.SIGHUP)
        refused = f"reload refused, all stays as it was: {file}:1: export.detail"
        said(process, f"event=reload_refused .*{re.escape(refused)} must be node, device, core or")
        assert b"neuron_core_hbm_used_bytes" in get(address, "/metrics")[1]
        file.write_text("export: {detail: node}\nlisten: []\n")
        process.send_signal(signal.SIGHUP)
        said(process, r"event=reloaded .*configuration reloaded: export\.detail: node")
        wait_for(lambda: b"neuron_core_hbm_used_bytes" not in get(address, "/metrics")[1])
        process.send_signal(signal.SIGTERM)
        _, rest = process.communicate(timeout=10)
        assert process.returncode == 0
        assert "event=stopped" in rest.splitlines()[-1]


def test_what_options_say_no_file_changes(tmp_path: Path) -> None:
    """The listener of `--listen` stays, and a restart is not asked for; a variable gives way."""
    file = tmp_path / "config.yaml"
    file.write_text("listen: [127.0.0.1:1]\nexport: {detail: full}\nlanes: {normal: 500ms}\n")
    with daemon("--config", str(file), "--detail", "node") as (process, address):
        assert b"neuron_core_hbm_used_bytes" not in get(address, "/metrics")[1]
        process.send_signal(signal.SIGHUP)
        said(process, "event=reloaded .*configuration reloaded: nothing changed")


def test_several_listeners(tmp_path: Path) -> None:
    """Each answers; the first line names them all."""
    file = tmp_path / "config.yaml"
    file.write_text("listen: [127.0.0.1:0, 127.0.0.1:0]\n")
    with started("daemon", "--config", str(file), "--host-root", SMALL) as process:
        one = r"http://127\.0\.0\.1:(\d+)/metrics"
        ports = said(process, rf"event=started .*url=.{one}, {one}").groups()
        assert len(set(ports)) == 2
        addresses = [Address("127.0.0.1", int(port)) for port in ports]
        for address in addresses:
            wait_for(lambda address=address: get(address, "/readyz")[0] == 200)  # type: ignore[misc]
        pages = [get(address, "/metrics") for address in addresses]
        assert [status for status, _ in pages] == [200, 200]
        assert all(b"neuron_device_identity_info{" in page for _, page in pages)


def test_the_log_is_as_configured(tmp_path: Path) -> None:
    """In its form from the first line on; another level after a hangup is quieter."""
    file = tmp_path / "config.yaml"
    file.write_text("log: {format: json}\n")
    options = ("--listen", "127.0.0.1:0", "--config", str(file), "--host-root", SMALL)
    with started("daemon", *options) as process:
        assert process.stderr
        assert json.loads(process.stderr.readline())["event"] == "started"
        file.write_text("log: {format: json, level: error}\n")
        process.send_signal(signal.SIGHUP)
        said(process, '"reloaded"')
        process.send_signal(signal.SIGTERM)
        _, rest = process.communicate(timeout=10)
        assert "stopped" not in rest


def test_a_wrong_configuration_ends_the_start(tmp_path: Path) -> None:
    """With 64, before anything is listened to or read."""
    file = tmp_path / "config.yaml"
    file.write_text("lsten: [127.0.0.1:0]\n")
    with started("daemon", "--config", str(file), "--host-root", SMALL) as process:
        _, error = process.communicate(timeout=PATIENCE)
    assert process.returncode == 64
    assert error == f"neuron-observer: {file}:1: unknown key 'lsten'\n  Did you mean 'listen'?\n"


def test_by_tls_and_by_the_unix_socket(tmp_path: Path) -> None:
    """A certificate and a password for the network, the kernel's word for this machine."""
    pair, path = made()["server"], tmp_path / "socket"
    config = tmp_path / "web-config.yml"
    config.write_text(
        f"tls_server_config: {{cert_file: {pair.certificate}, key_file: {pair.key}}}\n"
        f"basic_auth_users: {{alice: '{USERS['alice']}'}}\n"
    )
    config.chmod(0o600)
    options = ("--socket", str(path), "--web-config", str(config), "--host-root", SMALL)
    with started("daemon", "--listen", "127.0.0.1:0", *options) as process:
        head = said(process, rf"event=started .*url=.https://([\d.]+):(\d+)/metrics, unix:{path}")
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(str(path))
            sock.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
            assert sock.recv(100).startswith(b"HTTP/1.1 200 OK\r\n")
        context = ssl.create_default_context(cafile=str(pair.certificate))
        statuses = []
        for headers in ({}, {"Authorization": basic("alice", "wonderland")}):
            connection = http.client.HTTPSConnection(head[1], int(head[2]), context=context)
            connection.request("GET", "/metrics", headers={"Connection": "close", **headers})
            statuses.append(connection.getresponse().status)
            connection.close()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=10)
    assert statuses == [401, 200]
    assert process.returncode == 0
    assert not path.exists()


def test_bad_web_configurations(tmp_path: Path, call: Callable[..., Result]) -> None:
    """Each ends before anything is read or served, and leaves no socket file behind."""
    pair, another, path = made()["server"], made()["another"], tmp_path / "socket"
    file = tmp_path / "web-config.yml"
    options = ("--listen", "127.0.0.1:0", "--socket", str(path), "--host-root", SMALL)
    for text, mode, words in (
        (f"basic_auth_users: {{a: '{USERS['alice']}'}}", 0o644, "every user of this machine may"),
        ("tls_server_confg: {}", 0o600, "did you mean 'tls_server_config'"),
        (
            f"tls_server_config: {{cert_file: {pair.certificate}, key_file: {another.key}}}",
            0o600,
            "is not the key of the certificate",
        ),
        ("tls_server_config: {cert_file: gone.crt, key_file: gone.key}", 0o600, "cannot be read"),
    ):
        file.write_text(text)
        file.chmod(mode)
        with pytest.raises(ConfigError, match=words):
            call("daemon", *options, "--web-config", str(file))
        assert not path.exists()
    path.write_text("somebody's")
    with pytest.raises(UsageError, match="is no socket, so it is left alone"):
        call("daemon", *options)
    assert path.read_text() == "somebody's"


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
