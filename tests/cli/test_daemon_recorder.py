"""The flight recorder in the daemon as a process: put together, asked, reloaded."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from neuron_observer.exporters.listener import Address
from neuron_observer.recording.reader import opened
from tests.cli.test_daemon import get, said, started, wait_for

if TYPE_CHECKING:
    from pathlib import Path


def test_what_it_holds_is_written_on_request(tmp_path: Path) -> None:
    """By the unix socket; figures stand on the page; the file is a recording of this host."""
    path = str(tmp_path / "s.sock")
    arguments = ("--listen", "127.0.0.1:0", "--socket", path, "--state", str(tmp_path))
    simulated = ("--simulate", "healthy", "--instance", "trn2.3xlarge")
    with started("daemon", *arguments, *simulated) as process:
        head = said(process, r"event=started .*url=\W?http://([\d.]+):(\d+)/metrics")
        address = Address(head[1], int(head[2]))
        wait_for(lambda: get(address, "/readyz")[0] == 200)
        page = get(address, "/metrics")[1].decode()
        assert "neuron_observer_recorder_dumps_total 0" in page
        asked = subprocess.run(
            [
                sys.executable,
                "-m",
                "neuron_observer",
                "record",
                "--dump",
                "--connect",
                f"unix://{path}",
            ],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env=os.environ,
        )
        assert asked.returncode == 0, asked.stderr
    (file,) = (tmp_path / "recordings").glob("*.nobs.gz")
    assert f"recorded: {file}" in asked.stdout
    recording = opened(str(file))
    assert (recording.note, recording.header["host_root"]) == ("", "simulation")
    assert recording.header["why"]["asked"][0].endswith("asked for")
