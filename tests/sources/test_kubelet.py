"""The pod-resources socket: a real server answers, refuses, or is not there."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from neuron_observer.sources.kubelet import SOCKET, list_pod_resources
from tests.sources.kubelets import ANSWER, kubelet

if TYPE_CHECKING:
    from pathlib import Path


def test_it_asks_and_gives_the_answer() -> None:
    """An empty request, as the API has it; then what the kubelet refuses is told by its word."""
    with kubelet([ANSWER]) as (root, requests):
        assert list_pod_resources(root) == ANSWER
        with pytest.raises(OSError, match="RESOURCE_EXHAUSTED"):
            list_pod_resources(root)
    assert requests == [b"", b""]


def test_no_socket(tmp_path: Path) -> None:
    """The plain reason, and nothing of grpcio."""
    with pytest.raises(FileNotFoundError):
        list_pod_resources(str(tmp_path))


def test_nobody_listens(tmp_path: Path) -> None:
    """A socket that a kubelet left behind."""
    path = tmp_path / SOCKET
    path.parent.mkdir(parents=True)
    path.touch()
    with pytest.raises(OSError, match="UNAVAILABLE"):
        list_pod_resources(str(tmp_path))


def test_without_grpcio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What to install is said."""
    path = tmp_path / SOCKET
    path.parent.mkdir(parents=True)
    path.touch()
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(OSError, match=r"pip install 'neuron-observer\[kubernetes\]'"):
        list_pod_resources(str(tmp_path))
