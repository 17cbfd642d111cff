"""Frames of `top` as text: one a period, of one host, of several nodes, of a recording."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from neuron_observer.cli.top_plain import Pace, print_all, wait_for
from neuron_observer.clock import ManualClock
from neuron_observer.errors import DaemonError, ExitCode, InputError, UsageError
from tests.client.servers import answering
from tests.conftest import tree_file
from tests.daemon.daemons import Simulated, faulty

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Result

SMALL = str(tree_file("trn2.3xlarge-2.30.2-busy"))
STAMP = re.compile(r"^# \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$", re.MULTILINE)


def printed(capsys: pytest.CaptureFixture[str], pace: Pace, clock: ManualClock) -> list[str]:
    """When each frame was printed, seconds of a minute; drawing one takes 0.25 s."""

    def draw() -> list[str]:
        clock.advance(0.25)
        return ["a frame"]

    print_all(draw, pace, clock)
    return [line[-4:-1] for line in capsys.readouterr().out.splitlines() if line.startswith("#")]


def test_a_frame_a_period(capsys: pytest.CaptureFixture[str]) -> None:
    """On a grid that drawing does not shift, as many as asked for, and no wait after the last."""
    clock = ManualClock(wall=1_788_000_000.0)
    assert printed(capsys, Pace(2.0, 4), clock) == [":00", ":02", ":04", ":06"]
    assert clock.wall() == 1_788_000_006.25


def test_periods_that_were_missed(capsys: pytest.CaptureFixture[str]) -> None:
    """Are not made up for in a burst."""
    clock = ManualClock(wall=1_788_000_000.0)
    naps = iter([0.0, 100.0, 0.0, 0.0])

    def draw() -> list[str]:
        clock.advance(next(naps))
        return [f"{clock.wall():.0f}"]

    print_all(draw, Pace(1.0, 4), clock)
    shown = [line[-3:] for line in capsys.readouterr().out.splitlines() if line[:1] == "1"]
    assert shown == ["000", "101", "101", "102"]


def test_a_first_frame_that_does_not_come() -> None:
    """Is an error after a while, not a wait without end."""
    with pytest.raises(DaemonError, match=r"no frame in 0\.1 s"):
        wait_for(lambda: False, "no frame", 0.1)


def test_batch_of_a_host(call: Callable[..., Result]) -> None:
    """Each frame with the time at which it was printed, and a blank line after it."""
    found = call("top", "--batch", "--frames", "2", "--period", "0.1", "--host-root", SMALL)
    assert (found.code, found.err) == (0, "")
    assert len(STAMP.findall(found.out)) == 2
    one, other = found.out.split("\n\n")[:2]
    assert one.splitlines()[1].startswith("trn2.3xlarge")
    assert one.splitlines()[1:] == other.splitlines()[1:]
    assert "\x1b" not in found.out


@pytest.mark.parametrize(
    "arguments",
    [
        ("--period", "2"),
        ("-n", "2", "--once"),
        ("--speed", "2"),
        ("--seek", "2"),
        ("--replay", SMALL, "--host-root", "/"),
        ("--replay", SMALL, "--simulate"),
        ("--replay", SMALL, "--direct"),
        ("--replay", SMALL, "--connect", "http://n1:1"),
        ("--connect", "http://n1:1", "--connect", "http://n2:1", "--direct"),
        ("--connect", "http://n1:1", "--connect", "http://n1:1"),
        ("--connect", "http://n1:1", "--connect", "n2"),
        [word for number in range(17) for word in ("--connect", f"http://n{number}:1")],
    ],
)
def test_wrong_calls(call: Callable[..., Result], arguments: tuple[str, ...]) -> None:
    """Each says what goes with what."""
    with pytest.raises(UsageError) as error:
        call("top", *arguments)
    assert error.value.remedy


def test_several_nodes(call: Callable[..., Result], tmp_path: Path) -> None:
    """A line each with verdict and worst finding, in the order of the call; dead ones too."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    made = Simulated()
    with (
        answering(made.answers, tmp_path / "a") as well,
        answering(faulty().answers, tmp_path / "b") as ill,
    ):
        urls = [str(well.address), str(ill.address), "unix:///nowhere/o.sock"]
        asked = [word for url in urls for word in ("--connect", url)]
        found = call("top", "--once", "--width", "300", *asked)
    made.close()
    heading, *lines = found.out.splitlines()
    assert found.code == 0
    assert heading == "3 nodes: 1 unhealthy, 1 without an answer, 1 healthy"
    assert [line.split()[1:3] for line in lines[:2]] == [
        ["trn2.3xlarge", "healthy"],
        ["trn2.3xlarge", "unhealthy"],
    ]
    assert "sram-uncorrectable neuron0" in lines[1]
    assert "no daemon listens there" in lines[2]


def test_no_node_at_all(call: Callable[..., Result]) -> None:
    """The list says why of each; the exit code says that nobody is known."""
    urls = ("--connect", "unix:///nowhere/a", "--connect", "unix:///nowhere/b")
    found = call("top", "--batch", "-n", "1", *urls)
    assert found.code == ExitCode.UNKNOWN
    assert found.out.count("no daemon listens there") == 2


def test_this_machines_daemon(
    call: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shows its host unasked where that is the one that is asked about; else the host is read."""
    made = Simulated("sram-error", begin=200.0)
    root = made.reader.host.root
    with answering(made.answers, tmp_path) as client:
        monkeypatch.setenv("NEURON_OBSERVER_SOCKET", client.address.path)
        monkeypatch.setenv("NEURON_OBSERVER_HOST_ROOT", root)
        found = call("top", "--once", "--width", "100")
        assert "sram-uncorrectable" in found.out
        assert "told by this machine's daemon; --direct reads without it" in found.err
        monkeypatch.delenv("NEURON_OBSERVER_HOST_ROOT")
        for arguments in (("--direct",), ("--host-root", SMALL), ("--simulate",)):
            assert "sram-uncorrectable" not in call("top", "--once", *arguments).out, arguments
        monkeypatch.setenv("NEURON_OBSERVER_HOST_ROOT", root)
        made.clock.advance(10.0)  # its last frame is old now
        with pytest.raises(InputError):  # there is no such directory to be read
            call("top", "--once")
    made.close()


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A host of three passes, a second apart."""
    file = tmp_path / "host.tsv"
    whole = Path(SMALL).read_text("utf-8")
    later = '#at {0}.000\n#host ["proc/uptime", "0444", "{0}.0 1.0\\n"]\n'
    file.write_text(whole + "".join(later.format(second) for second in (1, 2)), "utf-8")
    return file


def test_a_recording(call: Callable[..., Result], recording: Path) -> None:
    """Once is its end, batch plays it to its end; a cut one is played as far as it is whole."""
    found = call("top", "--replay", str(recording), "--once", "--width", "120")
    assert found.code == 0
    assert re.match(r"ended .* 0:02 of 0:02", found.out.splitlines()[1])
    begin = call("top", "--replay", str(recording), "--once", "--seek", "1.5")
    assert " 0:01 of 0:02" in begin.out.splitlines()[1]
    played = call("top", "--replay", str(recording), "--speed", "0", "--batch", "--period", "0.1")
    assert STAMP.findall(played.out)
    assert "ended " in played.out.split("\n\n")[-2]
    recording.write_bytes(recording.read_bytes()[:-5])
    cut = call("top", "--replay", str(recording), "--once")
    assert "trn2.3xlarge" in cut.out
    assert "damaged, read up to there" in cut.err


def test_a_recording_that_is_none(call: Callable[..., Result], tmp_path: Path) -> None:
    """An error that names the file."""
    file = tmp_path / "x.nobs.gz"
    file.write_bytes(b"no recording")
    with pytest.raises(InputError, match=re.escape(str(file))):
        call("top", "--replay", str(file), "--once")


@pytest.mark.parametrize(("closed", "lines"), [("<&-", 20), (">&-", 0)])
def test_closed_streams(closed: str, lines: int) -> None:
    """Without standard input, or without an output, there is a frame or nobody to print it to."""
    command = f"{sys.executable} -m neuron_observer top --host-root {SMALL} {closed}"
    run = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert len(run.stdout.splitlines()) >= lines
    assert run.stderr == (
        "neuron-observer: no terminal here: one frame, as with --once; --batch prints one a"
        " period\n"
    )


def batch(*arguments: str) -> subprocess.Popen[str]:
    """A process that prints frames until somebody has enough."""
    command = [sys.executable, "-m", "neuron_observer", "top", "--batch", "--period", "0.1"]
    return subprocess.Popen(
        [*command, "--host-root", SMALL, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_reader_that_goes_away_and_a_signal() -> None:
    """`| head` ends it without a word; Ctrl-C ends it with 130 and no traceback."""
    with batch() as piped, batch() as stopped:
        assert piped.stdout
        assert stopped.stdout
        assert piped.stdout.readline().startswith("# ")
        piped.stdout.close()
        assert stopped.stdout.readline().startswith("# ")  # flushed, frame by frame
        stopped.send_signal(signal.SIGINT)
        assert piped.wait(20) == 0
        assert stopped.wait(20) == 130
        assert piped.stderr
        assert stopped.stderr
        assert piped.stderr.read() == stopped.stderr.read() == ""
