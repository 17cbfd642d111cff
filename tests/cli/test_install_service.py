"""`install-service` into an image: what it writes, what it refuses, what it says."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from neuron_observer.errors import HostError, UsageError
from neuron_observer.service import units

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Result


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """A root with the package under its usual prefix."""
    root = tmp_path / "image"
    package = root / "opt/neuron-observer/lib/python3.11/site-packages/neuron_observer"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (root / "opt/neuron-observer/bin").mkdir()
    (root / "opt/neuron-observer/bin/python").touch()
    for path in (root, *root.rglob("*")):
        path.chmod(0o755)
    return root


def written(image: Path) -> set[str]:
    """Files below etc/."""
    return {str(p.relative_to(image)) for p in (image / "etc").rglob("*") if p.is_file()}


def test_an_image(call: Callable[..., Result], image: Path) -> None:
    """All units are there, nothing is started, and what to do next is said; then all goes again."""
    done = call("install-service", "--root", str(image), "--with", "jobs, reload")
    assert done.code == 0
    drop_ins = {units.drop_in_path(name) for name in ("jobs", "reload")}
    assert written(image) == {*units.texts("/x"), units.ENVIRONMENT, *drop_ins}
    assert "enable neuron-observer.socket neuron-observer-api.socket" in done.out
    assert "ran" not in done.out.split()
    again = call("install-service", "--root", str(image))
    assert {line.split("  ")[0] for line in again.out.split("\n\n")[0].splitlines()} == {"as it is"}
    gone = call("install-service", "--root", str(image), "--uninstall")
    assert written(image) == {units.ENVIRONMENT}
    assert f"Left where they are: {image / units.ENVIRONMENT}, the user" in gone.out


@pytest.mark.parametrize("options", [(), ("--uninstall",)])
def test_a_dry_run_does_nothing(
    call: Callable[..., Result], image: Path, options: tuple[str, ...]
) -> None:
    """It names what would be done."""
    if options:
        call("install-service", "--root", str(image))
    before = {path: path.stat().st_mtime_ns for path in image.rglob("*")}
    done = call("install-service", "--root", str(image), "--dry-run", *options)
    verb = "would remove" if options else "would write"
    assert f"{verb} {image / units.UNITS / units.SERVICE}" in " ".join(done.out.split())
    assert {path: path.stat().st_mtime_ns for path in image.rglob("*")} == before


@pytest.mark.parametrize(
    "path",
    [
        "opt",
        "opt/neuron-observer/bin/python",
        "opt/neuron-observer/lib/python3.11/site-packages/neuron_observer/__init__.py",
        "etc/neuron-observer/rules.d/own.yaml",
        "etc/neuron-observer/config.yaml",
        "etc/neuron-observer",
    ],
)
def test_what_others_may_write_is_refused(
    call: Callable[..., Result], image: Path, path: str
) -> None:
    """An interpreter, the package, a folder above them, rules, configuration: named, and mended."""
    for name in ("config.yaml", "rules.d/own.yaml"):
        file = image / "etc/neuron-observer" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        file.chmod(0o644)
    (image / path).chmod(0o777)
    with pytest.raises(HostError) as caught:
        call("install-service", "--root", str(image))
    assert f"{image / path}: may be written by others" in caught.value.message
    assert f"chmod go-w {image / path}" in caught.value.remedy
    assert not (image / units.UNITS).exists()


def test_many_are_counted(call: Callable[..., Result], image: Path) -> None:
    """Five are named."""
    for number in range(8):
        path = image / f"opt/neuron-observer/lib/{number}"
        path.touch()
        path.chmod(0o666)
    with pytest.raises(HostError, match="and 3 more") as caught:
        call("install-service", "--root", str(image))
    assert caught.value.message.count("may be written by others") == 5


def test_what_is_not_there(call: Callable[..., Result], image: Path) -> None:
    """No package under the prefix, or a prefix that the sandbox hides."""
    with pytest.raises(HostError, match="no package neuron_observer below /usr/local"):
        call("install-service", "--root", str(image), "--prefix", "/usr/local")
    (image / "opt").rename(image / "home")
    with pytest.raises(HostError, match="the service sees nothing below /home") as caught:
        call("install-service", "--root", str(image), "--prefix", "/home/neuron-observer")
    assert caught.value.remedy == (
        "Install it elsewhere, for example under /opt/neuron-observer."
        " docs/install.md installs under /opt/neuron-observer, where all is root's."
    )


def test_an_unknown_drop_in(call: Callable[..., Result], image: Path) -> None:
    """The known ones are named."""
    with pytest.raises(UsageError, match="--with job: unknown") as caught:
        call("install-service", "--root", str(image), "--with", "job")
    assert caught.value.remedy == "Known: jobs, push, reload; none."


def test_an_interpreter_without_the_package(call: Callable[..., Result], tmp_path: Path) -> None:
    """PYTHONPATH is no installation: a service would not find the package."""
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin/python"
    script.write_text("#!/bin/sh\necho No module named neuron_observer >&2; exit 1\n")
    script.chmod(0o755)
    with pytest.raises(HostError, match="does not find the package neuron_observer"):
        call("install-service", "--dry-run", "--prefix", str(tmp_path))


if os.geteuid():

    def test_it_takes_root(call: Callable[..., Result]) -> None:
        """And says how."""
        with pytest.raises(UsageError, match="takes root") as caught:
            call("install-service")
        assert "--dry-run does not" in caught.value.remedy
