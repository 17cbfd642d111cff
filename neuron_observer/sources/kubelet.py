"""The kubelet's pod-resources socket, asked by grpcio where that is installed and was asked for."""

from __future__ import annotations

import os
from typing import Final

SOCKET: Final = "var/lib/kubelet/pod-resources/kubelet.sock"
_METHOD: Final = "/v1.PodResourcesLister/List"
_TIMEOUT: Final = 2.0  # seconds
_MOST: Final = 16 * 1024 * 1024  # bytes of an answer, as the kubelet's own client allows
_INSTALL: Final = "grpcio is not installed: pip install 'neuron-observer[kubernetes]'"


def list_pod_resources(root: str) -> bytes:
    """The answer as it came; OSError says why there is none.

    The channel is closed again; grpcio keeps a few idle threads.
    """
    path = f"{root.rstrip('/')}/{SOCKET}"
    os.stat(path)  # noqa: PTH116 - its error is the plain reason
    try:
        import grpc  # noqa: PLC0415 - an extra, and 25 MB that few hosts need
    except ImportError:
        raise OSError(_INSTALL) from None
    options = [("grpc.max_receive_message_length", _MOST), ("grpc.enable_http_proxy", 0)]
    with grpc.insecure_channel(f"unix:{path}", options=options) as channel:
        ask = channel.unary_unary(_METHOD, request_serializer=bytes, response_deserializer=bytes)
        try:
            return bytes(ask(b"", timeout=_TIMEOUT))
        except grpc.RpcError as error:
            raise OSError(f"the kubelet did not answer: {error.code().name}") from None
