"""HTTP/1.1 as the server takes it: bounded, and with one way only to read where a request ends.

A proxy and a server that disagree about the end of a request let one caller write into the
request of another. So what can be read in two ways is refused, though h11 would take it: lines
that end in a bare LF, folded header lines, a length beside `Transfer-Encoding` or said twice.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import h11

from vardy_api.http.problems import problem

if TYPE_CHECKING:
    from vardy_api.shapes import Problem

HEAD_BYTES_MAX: Final = 32 * 1024
"""Request line and headers together."""
REQUEST_LINE_BYTES_MAX: Final = 8 * 1024
HEADERS_MAX: Final = 100
CHUNKS_MAX: Final = 4096
"""Chunks of one body: each costs work of its own, however small it is."""

_END: Final = b"\r\n\r\n"
_BARE_LF: Final = re.compile(rb"(?<!\r)\n")
_FOLDED: Final = re.compile(rb"\n[ \t]")
_LENGTH: Final = re.compile(rb"\r\ncontent-length:([^\r]*)", re.IGNORECASE)
_ABSOLUTE: Final = re.compile(rb"https?://[^/?#]+", re.IGNORECASE)
_HTTP_1_1: Final = b"1.1"


class Refused(Exception):  # noqa: N818 - a verdict, caught where it is raised for
    """The request is refused before any route sees it; `document` is the answer."""

    def __init__(self, document: Problem) -> None:
        super().__init__(document.code)
        self.document = document


def _ambiguous(detail: str) -> Refused:
    return Refused(problem("request.framing", detail))


def _too_large(what: str, limit: str, maximum: int) -> Refused:
    detail = f"The request has more than {maximum} {what}."
    return Refused(problem("request.head_too_large", detail, {"limit": limit, "maximum": maximum}))


def check_head(received: bytes) -> None:
    """Checks a head as far as it has come; what follows it in `received` is not looked at. Raises `Refused`."""
    end = received.find(_END)
    head = received if end < 0 else received[: end + 2]
    if len(head) > HEAD_BYTES_MAX:
        raise _too_large("bytes before its body", "head_bytes_max", HEAD_BYTES_MAX)
    first = head.find(b"\n")
    if (len(head) if first < 0 else first) > REQUEST_LINE_BYTES_MAX:
        raise _too_large("bytes in its first line", "request_line_bytes_max", REQUEST_LINE_BYTES_MAX)
    if head.count(b"\n") > HEADERS_MAX + 1:
        raise _too_large("headers", "headers_max", HEADERS_MAX)
    if _BARE_LF.search(head):
        raise _ambiguous("A line of the request's head ends in LF alone; end lines in CR LF.")
    if _FOLDED.search(head):
        raise _ambiguous("A header goes on in the next line; write each in one line.")
    lengths = _LENGTH.findall(head)
    if len(lengths) > 1 or (lengths and end >= 0 and not lengths[0].strip(b" \t").isdigit()):
        raise _ambiguous("Content-Length is said more than once, or is no number.")


def _checked_request(request: h11.Request) -> h11.Request:
    """The request with its target as a path. Raises `Refused`."""
    names = {name for name, _ in request.headers}
    if b"transfer-encoding" in names and (b"content-length" in names or request.http_version < _HTTP_1_1):
        raise _ambiguous("Transfer-Encoding excludes Content-Length, and needs HTTP/1.1.")
    if request.target.startswith(b"/"):
        return request
    method = request.method.decode("ascii")
    if method == "CONNECT":
        raise Refused(problem("request.method", "This is no proxy: it does not take CONNECT."))
    absolute = _ABSOLUTE.match(request.target)
    if absolute is None:
        raise _ambiguous("The request's target is neither a path nor an http address.")
    path = request.target[absolute.end() :]
    return h11.Request(
        method=request.method,
        target=path if path.startswith(b"/") else b"/" + path,
        headers=request.headers,
        http_version=request.http_version,
    )


class StrictConnection(h11.Connection):
    """h11's state machine of a server's side. What it refuses it keeps in `refusal`, and yields nothing after it."""

    def __init__(self) -> None:
        super().__init__(h11.SERVER, max_incomplete_event_size=HEAD_BYTES_MAX)
        self.refusal: Problem | None = None
        self._chunks = 0

    def next_event(self) -> type[h11.NEED_DATA | h11.PAUSED] | h11.Event:
        """The next event of the request; `NEED_DATA` once it was refused."""
        if self.refusal is None:
            try:
                return self._next_event()
            except Refused as refused:
                self.refusal = refused.document
            except h11.RemoteProtocolError as error:
                self.refusal = _refusal_of(error)
        return h11.NEED_DATA

    def _next_event(self) -> type[h11.NEED_DATA | h11.PAUSED] | h11.Event:
        if self.their_state is h11.IDLE:
            check_head(self.trailing_data[0])
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._chunks = 0
            return _checked_request(event)
        # A body of said length has no chunks, in however many pieces it comes.
        if isinstance(event, h11.Data) and event.chunk_start:
            self._chunks += 1
            if self._chunks > CHUNKS_MAX:
                raise _ambiguous(f"The body has more than {CHUNKS_MAX} chunks; send fewer and larger ones.")
        return event


def _refusal_of(error: h11.RemoteProtocolError) -> Problem:
    """What h11 itself does not take. Its sentence may repeat what was sent, so it is not passed on."""
    if error.error_status_hint == 431:  # noqa: PLR2004 - the HTTP status
        return _too_large("bytes in one part of it", "head_bytes_max", HEAD_BYTES_MAX).document
    return problem("request.framing", "What was sent is no HTTP/1.1 request.")
