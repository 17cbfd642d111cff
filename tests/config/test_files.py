"""Files: which count, and what root does not believe."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from neuron_observer.config import Sources, examine, load, read
from neuron_observer.config.document import MOST_BYTES
from neuron_observer.errors import ConfigError


def test_only_yaml_is_read_and_others_are_told(tmp_path: Path) -> None:
    """A name that nearly fits is no silence; an editor's lock and backup are."""
    folder = tmp_path / "conf.d"
    folder.mkdir()
    for name in ("a.yml", ".#a.yaml", "a.yaml~", "README", "b.yaml"):
        (folder / name).write_text("kubelet: true\n" if name == "b.yaml" else "nonsense: 1\n")
    file = tmp_path / "config.yaml"
    file.write_text("")
    loaded = read(Sources(str(file)))
    assert loaded.config.kubelet is True
    assert [Path(one).name for one in loaded.files] == ["config.yaml", "b.yaml"]
    [remark] = loaded.remarks
    assert "a.yml: not read: only names that end in .yaml are" in remark


def test_a_folder_in_the_place_of_a_file(tmp_path: Path) -> None:
    """In conf.d too."""
    (tmp_path / "conf.d" / "a.yaml").mkdir(parents=True)
    (tmp_path / "config.yaml").write_text("")
    with pytest.raises(ConfigError, match=r"a\.yaml: cannot be read: Is a directory"):
        load(str(tmp_path / "config.yaml"))


def test_no_file_is_left_open(tmp_path: Path) -> None:
    """A daemon that is told to read a wrong file again and again keeps its descriptors."""
    (tmp_path / "conf.d" / "a.yaml").mkdir(parents=True)
    os.mkfifo(tmp_path / "conf.d" / "b.yaml")
    (tmp_path / "conf.d" / "c.yaml").write_bytes(b"\xff")
    (tmp_path / "config.yaml").write_text("a: [\n")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        assert len(examine(Sources(str(tmp_path / "config.yaml"))).problems) == 4
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_link_that_leads_nowhere_is_an_error(tmp_path: Path) -> None:
    """In conf.d it was meant to be read."""
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "conf.d" / "a.yaml").symlink_to("nowhere")
    file = str(tmp_path / "config.yaml")
    with pytest.raises(ConfigError, match=r"a\.yaml: cannot be read: No such file"):
        read(Sources(file, required=False))


def test_a_file_that_is_too_long_is_not_read_to_its_end(tmp_path: Path) -> None:
    """No configuration is so long."""
    file = tmp_path / "config.yaml"
    with file.open("wb") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(ConfigError, match=f"longer than {MOST_BYTES} bytes"):
        load(str(file))


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    """A pipe that nobody writes to, a device without end; in conf.d too."""
    for path in (tmp_path / "config.yaml", tmp_path / "conf.d" / "a.yaml"):
        path.parent.mkdir(exist_ok=True)
        os.mkfifo(path)
        with pytest.raises(ConfigError, match="is a pipe or a device"):
            load(str(tmp_path / "config.yaml"))
        path.unlink()
        (tmp_path / "config.yaml").write_text("")
    with pytest.raises(ConfigError, match="is a pipe or a device"):
        load("/dev/zero")


def test_nothing_is_a_configuration() -> None:
    """`--config /dev/null` means none, for root too, although anybody may write it."""
    assert load("/dev/null") == load(None)


def test_a_byte_order_mark_and_line_ends_of_others(tmp_path: Path) -> None:
    """Editors of other systems leave them."""
    file = tmp_path / "config.yaml"
    file.write_bytes(b"\xef\xbb\xbfkubelet: true\r\nall_devices: true\r\n")
    config = load(str(file))
    assert (config.kubelet, config.all_devices) == (True, True)


if os.geteuid() == 0:

    @pytest.mark.parametrize("name", ["config.yaml", "conf.d", "conf.d/a.yaml"])
    def test_root_refuses_what_anybody_may_write(tmp_path: Path, name: str) -> None:
        """The file, the folder beside it, a file in there; each with the remedy."""
        (tmp_path / "conf.d").mkdir()
        for one in ("config.yaml", "conf.d/a.yaml"):
            (tmp_path / one).write_text("")
        wrong = tmp_path / name
        wrong.chmod(wrong.stat().st_mode | 0o002)
        with pytest.raises(ConfigError, match="anybody may write it") as raised:
            load(str(tmp_path / "config.yaml"))
        assert raised.value.remedy == f"chmod o-w {wrong}"

    @pytest.mark.parametrize("name", ["conf.d", "conf.d/a.yaml"])
    def test_root_refuses_what_somebody_else_put_beside(tmp_path: Path, name: str) -> None:
        """Nobody named it; the file that somebody named may be his own."""
        (tmp_path / "conf.d").mkdir()
        for one in ("config.yaml", "conf.d/a.yaml"):
            (tmp_path / one).write_text("")
        os.chown(tmp_path / "config.yaml", 1000, 1000)
        assert examine(Sources(str(tmp_path / "config.yaml"))).problems == ()
        os.chown(tmp_path / name, 1000, 1000)
        with pytest.raises(ConfigError, match="belongs to user 1000"):
            load(str(tmp_path / "config.yaml"))

else:

    def test_what_may_not_be_read_is_told(tmp_path: Path) -> None:
        """With how to do without."""
        file = tmp_path / "config.yaml"
        file.write_text("")
        file.chmod(0)
        with pytest.raises(ConfigError, match="Permission denied") as raised:
            load(str(file))
        assert "/dev/null" in raised.value.remedy
