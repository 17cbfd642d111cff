"""Who else could change what a service runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.service.trust import below, changeable, out_of_reach, visited

if TYPE_CHECKING:
    from pathlib import Path

OURS = frozenset({os.getuid()})


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """A root with an interpreter behind two links, all of it ours and closed to others' writes."""
    root = tmp_path / "image"
    for folder in ("usr/bin", "opt/observer/bin"):
        (root / folder).mkdir(parents=True)
    (root / "usr/bin/python3.11").touch(mode=0o755)
    (root / "opt/observer/bin/python3").symlink_to("/usr/bin/python3.11")
    (root / "opt/observer/bin/python").symlink_to("python3")
    for path in (root, *root.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755)
    return root


def seen(image: Path, path: str) -> list[str]:
    """What is visited, as from within the image."""
    return ["/" + os.path.relpath(each, image) for each in visited(path, str(image))]


def test_links_are_followed_as_from_within(image: Path) -> None:
    """Every folder and link of the way, and an absolute link leads into the image."""
    assert seen(image, "/opt/observer/bin/python") == [
        "/.",
        "/opt",
        "/opt/observer",
        "/opt/observer/bin",
        "/opt/observer/bin/python",
        "/opt/observer/bin/python3",
        "/usr",
        "/usr/bin",
        "/usr/bin/python3.11",
    ]
    assert seen(image, "/usr/../../usr/./bin")[-2:] == ["/usr", "/usr/bin"]


def test_a_circle_of_links_ends(image: Path) -> None:
    """As the kernel: after forty."""
    (image / "a").symlink_to("b")
    (image / "b").symlink_to("a")
    assert len(seen(image, "/a")) < 100


@given(st.lists(st.sampled_from(["a", "b", "..", ".", "", "link", "/up"]), max_size=8))
def test_nothing_leads_out_of_the_root(words: list[str]) -> None:
    """However a path is written, what is visited stays below the root."""
    for path in visited("/".join(words), "/nowhere/at/all"):
        assert path == "/nowhere/at/all" or path.startswith("/nowhere/at/all/")


@pytest.mark.parametrize(
    ("path", "mode", "why"),
    [
        ("usr/bin/python3.11", 0o775, "may be written by group"),
        ("usr/bin/python3.11", 0o757, "may be written by others"),
        ("usr/bin", 0o777, "may be written by others"),
        ("usr", 0o1777, "may be written by others"),  # sticky: others may still add
        ("opt/observer", 0o775, "may be written by group"),
    ],
)
def test_what_others_may_write_is_named(image: Path, path: str, mode: int, why: str) -> None:
    """The file, a folder that leads to it, or one that only a link leads through."""
    way = list(visited("/opt/observer/bin/python", str(image)))
    assert list(changeable(way, OURS, str(image))) == []
    (image / path).chmod(mode)
    weak = list(changeable(dict.fromkeys(way), OURS, str(image)))
    assert {each.path for each in weak} == {str(image / path)}
    assert weak[0].why.startswith(why)
    assert weak[0].remedy == f"chmod go-w {image / path}"


def test_what_belongs_to_others_is_named(image: Path) -> None:
    """Whoever owns a file can change it, whatever its mode."""
    weak = list(changeable([str(image)], {os.getuid() + 1}, str(image)))
    assert [each.why for each in weak] == [f"belongs to user {os.getuid()}"]
    assert weak[0].remedy == f"chown -h root:root {image}"


def test_a_link_leads_to_what_others_may_write(image: Path) -> None:
    """A library that is only linked to is as weak as what it is."""
    (image / "usr/module.py").touch(mode=0o644)
    (image / "usr/module.py").chmod(0o666)
    (image / "opt/observer/module.py").symlink_to("/usr/module.py")
    weak = list(changeable(below(str(image / "opt")), OURS, str(image)))
    assert [each.path for each in weak] == [str(image / "usr/module.py")]


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/home/ann/venv/bin/python", "the service sees nothing below /home"),
        ("/tmp/venv/bin/python", "the service sees nothing below /tmp"),  # noqa: S108 - refused
        ("/opt/none/bin/python", "is not there"),
    ],
)
def test_what_the_sandbox_hides_is_named(image: Path, path: str, why: str) -> None:
    """A service that cannot start is refused before it is installed."""
    assert list(out_of_reach(visited("/opt/observer/bin/python", str(image)), str(image))) == []
    found = list(out_of_reach(visited(path, str(image)), str(image)))
    assert [each.why for each in found] == [why]


@pytest.mark.parametrize(("path", "mode"), [("opt/observer", 0o750), ("usr/bin/python3.11", 0o700)])
def test_what_is_closed_to_its_user_is_named(image: Path, path: str, mode: int) -> None:
    """As with a strict umask."""
    (image / path).chmod(mode)
    way = visited("/opt/observer/bin/python", str(image))
    found = list(out_of_reach(way, str(image)))
    assert [(each.path, each.why) for each in found] == [
        (str(image / path), "is closed to the service's user")
    ]
