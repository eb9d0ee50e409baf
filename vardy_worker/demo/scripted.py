"""The scripted model: an HTTP server that speaks the chat-completions protocol by script.

It is no language model, and says so: its model is called `scripted`. It answers the phrases
of `phrases.py` with the programs of `answers/`, and any other text with a refusal that lists
the phrases; as the judge `scripted-judge` it labels texts by the words of `judging.py`.
Everything between the worker and it is real: litellm, HTTP, JSON.

Tests read `requests` to see every byte that was sent, and queue faults with `misbehave`.
"""

from __future__ import annotations

import http.server
import json
import socket
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from vardy_worker.demo.phrases import Answer, answer_to

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

    from vardy_worker.contracts.base import JsonObject

MODEL = "openai/scripted"
"""Its name for litellm, with `OPENAI_API_BASE` set to `ScriptedModel.url`."""
JUDGE_MODEL = "openai/scripted-judge"
"""Its name as a judge, which answers by `judging.py`."""

BODY_BYTES_MAX = 64 * 1024 * 1024
BYTES_PER_TOKEN = 4
POLL_SECONDS = 0.02
"""How soon `stop()` is noticed."""


@dataclass(frozen=True, slots=True)
class HttpFault:
    """The next request gets this HTTP error, with a body that repeats the request's last message.

    Real providers do repeat parts of requests in their errors, so tests can prove that none
    of it reaches a log.
    """

    status: int
    retry_after: str = ""
    error_code: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class PlainFault:
    """The next request is accepted, and then goes wrong in one of these ways.

    - `hang`: gets no answer until the server stops;
    - `garbage`: is answered 200 with something that is not a completion;
    - `empty`: gets a completion without choices;
    - `disconnect`: has its connection closed without an answer;
    - `truncate`: gets the first half of its answer, with `finish_reason` `length`.
    """

    kind: Literal["hang", "garbage", "empty", "disconnect", "truncate"]


Fault = HttpFault | PlainFault


@dataclass(frozen=True, slots=True)
class Received:
    """One request as it came: the raw body and the headers."""

    body: bytes
    headers: dict[str, str]

    @property
    def json(self) -> JsonObject:
        """The body, parsed."""
        parsed: JsonObject = json.loads(self.body)
        return parsed


class ScriptedModel:
    """The server, in a thread of this process; also a context manager.

    `answer` says what it answers to a conversation of (role, content): by default the
    phrases of the demo. `delay_seconds` is the time each answer takes, for measurements
    of waiting.
    """

    def __init__(
        self,
        port: int = 0,
        *,
        answer: Callable[[list[tuple[str, str]]], Answer] = answer_to,
        delay_seconds: float = 0,
    ) -> None:
        self.answer = answer
        self.delay_seconds = delay_seconds
        self.stopping = threading.Event()
        self._port = port
        self._changed = threading.Condition()
        self._received: list[Received] = []
        self._faults: list[Fault] = []
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> Self:
        """Listens on loopback. Raises `OSError` when the port is taken."""
        self._server = _Server(("127.0.0.1", self._port), self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(POLL_SECONDS,), name="scripted-model", daemon=True
        )
        self._thread.start()
        return self

    def stop(self) -> None:
        """Ends the server and every request under way. Idempotent."""
        self.stopping.set()
        server, thread = self._server, self._thread
        self._server = self._thread = None
        if server is not None and thread is not None:
            server.shutdown()
            thread.join()
            server.server_close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """The base address, for `OPENAI_API_BASE`."""
        if self._server is None:
            raise RuntimeError("the scripted model is not running")
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def environment(self) -> dict[str, str]:
        """What a worker needs in its environment to use this server as its model and its judge."""
        return {
            "VARDY_MODEL": MODEL,
            "VARDY_JUDGE_MODEL": JUDGE_MODEL,
            "OPENAI_API_BASE": self.url,
            "OPENAI_API_KEY": "scripted-needs-no-key",
        }

    @property
    def requests(self) -> tuple[Received, ...]:
        """Every completion request since the start, or since `forget()`, oldest first."""
        with self._changed:
            return tuple(self._received)

    def wait_for_requests(self, count: int, *, timeout_seconds: float) -> bool:
        """Waits until `requests` holds so many; False when the time is over first."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self._received) >= count, timeout_seconds)

    def forget(self) -> None:
        """Empties `requests`."""
        with self._changed:
            self._received.clear()

    def misbehave(self, *faults: Fault) -> None:
        """Queues faults: each is used up by one request, in order."""
        with self._changed:
            self._faults.extend(faults)

    def receive(self, received: Received) -> Fault | None:
        """Keeps a request and hands out the fault that is due for it."""
        with self._changed:
            self._received.append(received)
            self._changed.notify_all()
            return self._faults.pop(0) if self._faults else None


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 1024

    def __init__(self, address: tuple[str, int], scripted: ScriptedModel) -> None:
        self.scripted = scripted
        self._open: set[socket.socket] = set()
        self._open_lock = threading.Lock()
        super().__init__(address, _Handler)

    def process_request(self, request: socket.socket | tuple[bytes, socket.socket], client_address: object) -> None:
        if isinstance(request, socket.socket):
            with self._open_lock:
                self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: socket.socket | tuple[bytes, socket.socket]) -> None:
        if isinstance(request, socket.socket):
            with self._open_lock:
                self._open.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        """Also ends kept-alive connections, whose threads would wait for a next request for ever."""
        super().server_close()
        with self._open_lock:
            connections = list(self._open)
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is no news."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        """Lists the one model."""
        if self.path.rstrip("/").endswith("/models"):
            self._send(200, {"object": "list", "data": [{"id": "scripted", "object": "model", "owned_by": "vardy"}]})
        else:
            self._send(404, _error_body("There is only /v1/models and /v1/chat/completions here."))

    def do_POST(self) -> None:
        """Answers a completion request, or misbehaves as told."""
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > BODY_BYTES_MAX:
            self.close_connection = True
            self._send(413, _error_body("A body of known and reasonable length is needed."))
            return
        body = self.rfile.read(int(length))
        if not self.path.rstrip("/").endswith("/chat/completions"):
            self._send(404, _error_body("There is only /v1/chat/completions here."))
            return
        scripted = self.server.scripted
        fault = scripted.receive(Received(body, {name.lower(): value for name, value in self.headers.items()}))
        try:
            request = json.loads(body)
            messages = [(str(message["role"]), str(message["content"])) for message in request["messages"]]
        except (ValueError, KeyError, TypeError):
            self._send(400, _error_body("The body is not a chat-completions request."))
            return
        if request.get("stream"):
            self._send(400, _error_body("The scripted model does not stream."))
            return
        if scripted.delay_seconds and scripted.stopping.wait(scripted.delay_seconds):
            return
        self._answer(str(request.get("model", "scripted")), messages, len(body), fault)

    def _answer(self, model: str, messages: list[tuple[str, str]], body_bytes: int, fault: Fault | None) -> None:
        answer = self.server.scripted.answer(messages)
        match fault:
            case HttpFault():
                message = fault.message or f"The scripted model fails as told; it was asked: {messages[-1][1]}"
                self._send(fault.status, _error_body(message, fault.error_code), retry_after=fault.retry_after)
            case PlainFault(kind="hang"):
                self.server.scripted.stopping.wait()
                self.close_connection = True
            case PlainFault(kind="disconnect"):
                self.close_connection = True
            case PlainFault(kind="garbage"):
                self._send_bytes(200, b"<html>gateway</html>", "text/html")
            case PlainFault(kind="empty"):
                self._send(200, {**_completion(model, answer, body_bytes), "choices": []})
            case PlainFault(kind="truncate"):
                half = Answer(answer.text[: len(answer.text) // 2], finish_reason="length")
                self._send(200, _completion(model, half, body_bytes))
            case None:
                self._send(200, _completion(model, answer, body_bytes))

    def _send(self, status: int, body: JsonObject, *, retry_after: str = "") -> None:
        self._send_bytes(status, json.dumps(body).encode(), "application/json", retry_after=retry_after)

    def _send_bytes(self, status: int, body: bytes, kind: str, *, retry_after: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if retry_after:
            self.send_header("Retry-After", retry_after)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Nothing: requests are kept in `ScriptedModel.requests`."""


def _completion(model: str, answer: Answer, body_bytes: int) -> JsonObject:
    prompt_tokens = max(1, body_bytes // BYTES_PER_TOKEN)
    completion_tokens = max(1, len(answer.text.encode()) // BYTES_PER_TOKEN)
    return {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "system_fingerprint": "scripted",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": answer.text},
                "finish_reason": answer.finish_reason,
            }
        ],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
        },
    }


def _error_body(message: str, code: str = "") -> JsonObject:
    return {"error": {"message": message, "type": "scripted_error", "param": None, "code": code or None}}
