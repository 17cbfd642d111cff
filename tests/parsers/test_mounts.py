"""Views of file systems, and what they are beneath."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuron_observer.parsers.mounts import writable_beneath

# As a service with ProtectSystem=strict sees it; an image and a disk with errors beside it.
SANDBOXED = b"""\
412 410 259:1 / / ro,nosuid,relatime shared:1 - ext4 /dev/root rw,discard,errors=remount-ro
413 412 0:27 / /dev/shm ro,nosuid,nodev shared:9 master:3 - tmpfs tmpfs rw,size=8000k,inode64
414 412 7:1 / /snap/core ro,nodev,relatime - squashfs /dev/loop1 ro,errors=continue
415 412 259:9 / /data rw,relatime - ext4 /dev/nvme1n1 ro
416 412 259:1 /var/tmp/private /tmp rw,relatime - ext4 /dev/root rw,discard
"""


@pytest.mark.parametrize(
    ("path", "writable"),
    [
        ("/", True),
        ("/dev/shm", True),  # noqa: S108 - a mount of the table
        ("/snap/core/18", False),
        ("/data", False),
        ("/tmp", True),  # noqa: S108 - the same
        ("/datastore", True),  # of the root
        ("/home", True),
    ],
)
def test_the_file_system_counts_and_not_the_view(path: str, writable: bool) -> None:
    """Read-only for us is not read-only for all."""
    assert writable_beneath(SANDBOXED, path) is writable


def test_the_last_mount_at_a_place_hides_the_others() -> None:
    """As the kernel looks a path up."""
    over = SANDBOXED + b"417 412 0:50 / / rw - tmpfs none ro\n"
    assert not writable_beneath(over, "/home")


@given(st.binary(max_size=300))
def test_anything_gives_an_answer(raw: bytes) -> None:
    """No table, no write."""
    assert writable_beneath(raw, "/") in (True, False)
    assert not writable_beneath(raw.replace(b" ", b"_"), "/")
