"""Files that are replaced while the daemon runs: the new ones count, and bad ones do not."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from neuron_observer.clock import ManualClock
from neuron_observer.errors import ConfigError
from neuron_observer.exporters.web import Web
from neuron_observer.exporters.web.settings import Tls, WebSettings
from tests.exporters.certificates import made
from tests.exporters.web.test_passwords import USERS, basic

if TYPE_CHECKING:
    from pathlib import Path

ALICE = basic("alice", "wonderland")


class Files:
    """A web configuration in a folder, and whoever reads it."""

    def __init__(self, folder: Path) -> None:
        self.clock = ManualClock()
        self.said: list[str] = []
        self.file, self.certificate, self.key = (folder / n for n in ("web.yml", "crt", "key"))
        self.settings = WebSettings(str(self.file), Tls(str(self.certificate), str(self.key)))
        self.error = ""
        self.reads = 0
        self._changes = 0
        self.put(self.file, "1")
        self.rotate("server")

    def read(self) -> WebSettings:
        """What the file says now."""
        self.reads += 1
        if self.error:
            raise ConfigError(self.error, file=str(self.file), line=3)
        return self.settings

    def put(self, file: Path, text: str) -> None:
        """Replace a file, in another nanosecond."""
        file.write_text(text)
        self._changes += 1
        os.utime(file, ns=(self._changes, self._changes))

    def rotate(self, name: str) -> None:
        """Another pair."""
        self.put(self.certificate, made()[name].certificate.read_text())
        self.put(self.key, made()[name].key.read_text())

    def web(self) -> Web:
        """What is in force."""
        return Web(self.read, self.clock, self.said.append)


def test_nothing_changed(tmp_path: Path) -> None:
    """Read once, however often it is asked for."""
    files = Files(tmp_path)
    web = files.web()
    first = web.secured()
    for _ in range(5):
        files.clock.advance(10.0)
        assert web.secured() is first
    assert files.reads == 1
    assert files.said == []


def test_a_certificate_is_rotated(tmp_path: Path) -> None:
    """New connections have the new one, within a second, and it is said."""
    files = Files(tmp_path)
    web = files.web()
    first = web.secured()
    files.rotate("another")
    assert web.secured() is first
    files.clock.advance(1.0)
    assert web.secured() is not first
    assert files.said == [f"{files.file}: read again, because it or a file that it names changed"]


def test_half_a_rotation_keeps_the_old_pair(tmp_path: Path) -> None:
    """Certificate first, key later: in between the old pair serves, and that is said once."""
    files = Files(tmp_path)
    web = files.web()
    first = web.secured()
    files.put(files.certificate, made()["another"].certificate.read_text())
    for _ in range(3):
        files.clock.advance(1.0)
        assert web.secured() is first
    [said] = files.said
    assert said.startswith(f"{files.key}: is not the key of the certificate")
    assert said.endswith("the old certificate and passwords stay in use.")
    files.put(files.key, made()["another"].key.read_text())
    files.clock.advance(1.0)
    assert web.secured() is not first
    assert len(files.said) == 2


def test_a_file_that_is_gone_or_wrong(tmp_path: Path) -> None:
    """The old state is kept, and each new reason is said once."""
    files = Files(tmp_path)
    files.settings = WebSettings(str(files.file), users=USERS)
    web = files.web()
    assert web.check(ALICE)
    for error in ("cannot be read: No such file or directory", "unknown key 'x'"):
        files.error = error
        files.put(files.file, error)
        for _ in range(3):
            files.clock.advance(1.0)
            assert web.admits(ALICE) is True
    assert [said.split(": ", 1)[1].split("\n")[0] for said in files.said] == [
        "cannot be read: No such file or directory",
        "unknown key 'x'",
    ]
    files.error = ""
    files.clock.advance(1.0)
    web.admits(ALICE)
    assert len(files.said) == 3


def test_a_user_who_is_no_more(tmp_path: Path) -> None:
    """What was remembered of him is forgotten with him."""
    files = Files(tmp_path)
    files.settings = WebSettings(str(files.file), users=USERS)
    web = files.web()
    assert web.check(ALICE)
    assert web.admits(ALICE) is True
    files.settings = WebSettings(str(files.file), users={"bob": USERS["bob"]})
    files.put(files.file, "2")
    files.clock.advance(1.0)
    assert web.admits(ALICE) is None
    assert not web.check(ALICE)


def test_what_it_protects(tmp_path: Path) -> None:
    """Whether connections are by TLS, and whether a client must say who it is."""
    files = Files(tmp_path)
    authority = str(made()["authority"].certificate)
    assert files.settings.tls
    mutual = files.settings.tls._replace(client_certificate="required", client_ca_file=authority)
    for settings, encrypts, asks in (
        (WebSettings(str(files.file)), False, False),
        (files.settings, True, False),
        (WebSettings(str(files.file), users=USERS), False, True),
        (WebSettings(str(files.file), mutual), True, True),
    ):
        files.settings = settings
        web = files.web()
        assert (web.encrypts, web.asks) == (encrypts, asks)
