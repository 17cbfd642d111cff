"""Answers of the API: JSON that ends with the frame it is made from, and problems (RFC 9457).

A document is rendered once a frame for each query, compressed once where somebody asked for that,
and kept until the next frame. Only its end, the frame's age, is written anew each time; the
compressed form ends at a byte there, so that the rest follows as it is (RFC 1951, RFC 1952).
"""

from __future__ import annotations

import json
import struct
import zlib
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from neuron_observer.daemon.standing import frame_id
from neuron_observer.exporters.message import Response
from neuron_observer.exporters.scrape import accepts_gzip

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from neuron_observer.daemon.asked import WrongQuery
    from neuron_observer.daemon.standing import Aged
    from neuron_observer.exporters.message import Request
    from neuron_observer.model import Frame

JSON = "application/json"
PROBLEM = "application/problem+json"
AGE_HEADER = "Neuron-Observer-Frame-Age"  # seconds; `none` before the first frame
STALE_HEADER = "Neuron-Observer-Frame-Stale"  # true or false

_KEPT = 8  # documents of one frame
_GZIP_HEAD = b"\x1f\x8b\x08\0\0\0\0\0\x04\xff"  # no name, no time, fastest, any system
_RAW = -zlib.MAX_WBITS  # deflate without a head of its own


class _Document:
    """A rendered document without its end."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.plain = json.dumps(document).encode()[:-1]
        self._deflated = b""
        self._crc = 0

    def whole(self, end: bytes) -> bytes:
        """As it is."""
        return self.plain + end

    def compressed(self, end: bytes) -> bytes:
        """As one gzip member."""
        if not self._deflated:
            packer = zlib.compressobj(1, zlib.DEFLATED, _RAW)
            self._crc = zlib.crc32(self.plain)
            self._deflated = packer.compress(self.plain) + packer.flush(zlib.Z_FULL_FLUSH)
        packer = zlib.compressobj(1, zlib.DEFLATED, _RAW)
        rest = packer.compress(end) + packer.flush()
        size = (len(self.plain) + len(end)) & 0xFFFFFFFF
        tail = struct.pack("<II", zlib.crc32(end, self._crc), size)
        return _GZIP_HEAD + self._deflated + rest + tail


class Rendered:
    """The documents of the last frame. Any thread may ask; one renders at a time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._frame: Frame | None = None
        self._documents: dict[Hashable, _Document] = {}

    def forget(self) -> None:
        """There is a newer frame: nobody asks for these documents again."""
        self._frame = None
        self._documents = {}

    def _get(self, key: Hashable, aged: Aged, make: Callable[[], Mapping[str, Any]]) -> _Document:
        """The document of a query on this frame; without a key it is made each time."""
        if key is None:
            return _Document(make())
        with self._lock:
            if self._frame is not aged.frame:
                self._documents, self._frame = {}, aged.frame
            documents = self._documents
            document = documents.get(key)
            if document is None:
                document = _Document(make())
                if len(documents) < _KEPT:
                    documents[key] = document
            return document

    def answer(
        self, request: Request, aged: Aged, key: Hashable, make: Callable[[], Mapping[str, Any]]
    ) -> Response:
        """The document, or 304 where the client has it of this very frame."""
        headers = (("Vary", "Accept-Encoding"), *frame_headers(aged))
        tag = f'W/"{frame_id(aged.frame)}{"-stale" if aged.stale else ""}"'
        if key is not None:
            headers += (("ETag", tag),)
        if key is not None and _has(request.headers.get("if-none-match", ""), tag):
            return Response(b"", 304, JSON, headers)
        document = self._get(key, aged, make)
        end = b', "frame": ' + json.dumps(aged.document).encode() + b"}"
        if not accepts_gzip(request.headers.get("accept-encoding", "")):
            return Response(document.whole(end), 200, JSON, headers)
        headers += (("Content-Encoding", "gzip"),)
        return Response(document.compressed(end), 200, JSON, headers)


def frame_headers(aged: Aged | None) -> tuple[tuple[str, str], ...]:
    """The frame's age and whether it is stale, for every answer."""
    if aged is None:
        return ((AGE_HEADER, "none"), (STALE_HEADER, "true"))
    return ((AGE_HEADER, f"{aged.age:.3f}"), (STALE_HEADER, "true" if aged.stale else "false"))


def _has(told: str, tag: str) -> bool:
    """Whether If-None-Match names a tag; compared weakly (RFC 9110 §13.1.2)."""
    tags = {one.strip().removeprefix("W/") for one in told.split(",")}
    return tag.removeprefix("W/") in tags


class Problem(NamedTuple):
    """What went wrong, for programs and people (RFC 9457)."""

    status: int
    title: str
    detail: str = ""
    known: tuple[str, ...] = ()

    def response(self, aged: Aged | None, *headers: tuple[str, str]) -> Response:
        """As an answer."""
        document: dict[str, Any] = {
            "type": "about:blank",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
        }
        if self.known:
            document["known"] = list(self.known)
        body = json.dumps(document).encode()
        return Response(body, self.status, PROBLEM, (*frame_headers(aged), *headers))


def of_query(wrong: WrongQuery) -> Problem:
    """400, with what is known."""
    return Problem(400, wrong.title, wrong.detail, wrong.known)
