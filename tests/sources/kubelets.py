"""Answers of the pod-resources service, and a real gRPC server that gives them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import grpc

from neuron_observer.sources.kubelet import SOCKET

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Pods = list[tuple[str, str, list[tuple[str, list[str]]]]]  # namespace, pod, (resource, ids)

# made with Google's protobuf library from the podresources/v1 API's own field numbers: two pods
# with devices, one without; also topology, cpu_ids and memory, which are not read
ANSWER = bytes.fromhex(
    "0a92010a0e6c6c616d612d776f726b65722d3012076d6c2d7465616d1a6c0a046d61696e12250a15"
    "6177732e616d617a6f6e2e636f6d2f6e6575726f6e1201351201361a060a000a02080112210a1576"
    "70632e616d617a6f6e6177732e636f6d2f656661120872646d61703073361a0302034622150a066d"
    "656d6f7279108080808080201a040a0208011a090a07736964656361720a1f0a09636f7265646e73"
    "2d31120b6b7562652d73797374656d1a050a03646e730a3c0a0773657276652d3012076d6c2d7465"
    "616d1a280a017612230a196177732e616d617a6f6e2e636f6d2f6e6575726f6e636f726512023134"
    "12023135"
)


def encoded(pods: Pods) -> bytes:
    """`ListPodResourcesResponse` in protobuf's wire format, each device in its own container."""
    whole = b""
    for namespace, name, devices in pods:
        containers = b""
        for resource, ids in devices:
            own = _field(1, resource.encode()) + b"".join(_field(2, id_.encode()) for id_ in ids)
            containers += _field(3, _field(2, own))
        whole += _field(1, _field(1, name.encode()) + _field(2, namespace.encode()) + containers)
    return whole


def _field(number: int, content: bytes) -> bytes:
    size, head = len(content), bytes([number << 3 | 2])
    while size >= 0x80:
        head += bytes([size & 0x7F | 0x80])
        size >>= 7
    return head + bytes([size]) + content


@contextmanager
def kubelet(answers: Sequence[bytes]) -> Iterator[tuple[str, list[bytes]]]:
    """A server on the socket below a host root; yields that root and the requests that came.

    The root is short, because the path of a socket has at most 107 characters. Each call takes the
    next answer; when there is none left it is refused.
    """
    requests: list[bytes] = []
    left = list(answers)

    def answer(request: bytes, context: grpc.ServicerContext) -> bytes:
        requests.append(request)
        if not left:
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "asked too often")
        return left.pop(0)

    server = grpc.server(ThreadPoolExecutor(1))
    method: grpc.RpcMethodHandler[bytes, bytes] = grpc.unary_unary_rpc_method_handler(answer)
    server.add_generic_rpc_handlers(
        [grpc.method_handlers_generic_handler("v1.PodResourcesLister", {"List": method})]
    )
    with TemporaryDirectory(dir="/tmp") as root:
        path = Path(root) / SOCKET
        path.parent.mkdir(parents=True)
        server.add_insecure_port(f"unix:{path}")
        server.start()
        try:
            yield root, requests
        finally:
            server.stop(0).wait(5)
