"""What the scripted model answers in a test: by request and turn, and when the test lets it."""

from __future__ import annotations

import threading

from vardy_worker.demo.phrases import Answer, request_in
from vardy_worker.demo.questions import question_in


def source(body: str) -> str:
    """A program of this body."""
    return f"async function run(params) {{\n{body}\n}}"


def program(body: str) -> str:
    """A model's answer with a program of this body."""
    return f"```javascript\n{source(body)}\n```"


class Script:
    """For `ScriptedModel(answer=…)`. Of several answers each next one is of the next turn; the last repeats.

    A turn follows a repair prompt, or a round of an explore, whose question stands for a request.
    """

    def __init__(self) -> None:
        self._answers: dict[str, tuple[str, ...]] = {}
        self._held: dict[tuple[str, int | None], threading.Event] = {}
        self._asked: dict[str, int] = {}
        self._lock = threading.Lock()

    def teach(self, request: str, *answers: str) -> None:
        with self._lock:
            self._answers[request] = answers

    def hold(self, request: str, *, turn: int | None = None) -> threading.Event:
        """The answers to this request, or that of one turn (the first is 0), wait until the event is set."""
        with self._lock:
            return self._held.setdefault((request, turn), threading.Event())

    def asked(self, request: str) -> int:
        """How often the request was sent, answered or not."""
        with self._lock:
            return self._asked.get(request, 0)

    def __call__(self, messages: list[tuple[str, str]]) -> Answer:
        request = request_in(messages) or question_in(messages) or ""
        turn = sum(1 for role, _ in messages if role == "assistant")
        with self._lock:
            self._asked[request] = self._asked.get(request, 0) + 1
            answers = self._answers.get(request)
            held = [self._held[key] for key in ((request, None), (request, turn)) if key in self._held]
        for event in held:
            # Bounded, so that a test that fails leaves no thread behind.
            event.wait(60)
        if answers is None:
            return Answer(f"The test taught me nothing about {request!r}.")
        return Answer(answers[min(turn, len(answers) - 1)])
