"""What the scripted model answers in a test: by request and turn, and when the test lets it."""

from __future__ import annotations

import threading

from vardy_worker.demo.phrases import Answer, request_in


def source(body: str) -> str:
    """A program of this body."""
    return f"async function run(params) {{\n{body}\n}}"


def program(body: str) -> str:
    """A model's answer with a program of this body."""
    return f"```javascript\n{source(body)}\n```"


class Script:
    """For `ScriptedModel(answer=…)`. Of several answers each next one follows a repair prompt; the last repeats."""

    def __init__(self) -> None:
        self._answers: dict[str, tuple[str, ...]] = {}
        self._held: dict[str, threading.Event] = {}
        self._asked: dict[str, int] = {}
        self._lock = threading.Lock()

    def teach(self, request: str, *answers: str) -> None:
        with self._lock:
            self._answers[request] = answers

    def hold(self, request: str) -> threading.Event:
        """The answer to this request waits until the event is set."""
        with self._lock:
            return self._held.setdefault(request, threading.Event())

    def asked(self, request: str) -> int:
        """How often the request was sent, answered or not."""
        with self._lock:
            return self._asked.get(request, 0)

    def __call__(self, messages: list[tuple[str, str]]) -> Answer:
        request = request_in(messages) or ""
        with self._lock:
            self._asked[request] = self._asked.get(request, 0) + 1
            answers, held = self._answers.get(request), self._held.get(request)
        if held is not None:
            # Bounded, so that a test that fails leaves no thread behind.
            held.wait(60)
        if answers is None:
            return Answer(f"The test taught me nothing about {request!r}.")
        turn = sum(1 for role, _ in messages if role == "assistant")
        return Answer(answers[min(turn, len(answers) - 1)])
