"""A real sandbox, shared by the folder, and functions for its programs to call."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from vardy_worker.adapters.sandbox import ChildSandbox
from vardy_worker.contracts.base import JsonValue
from vardy_worker.contracts.execution import (
    CallFailure,
    CallPlaceholder,
    CallReply,
    CallValue,
    GuestCall,
    SandboxOutcome,
    SandboxRun,
)
from vardy_worker.contracts.limits import Limits
from vardy_worker.programs.judge_arguments import ClassifyCall, judge_call
from vardy_worker.sandbox.pool import Image, build_image

NOW_MS = 1_767_323_045_678


@dataclass
class Host:
    """The functions that programs of these tests may call; remembers what they called."""

    batches: list[list[GuestCall]] = field(default_factory=list)
    effects: int = 0

    @property
    def calls(self) -> list[GuestCall]:
        return [call for batch in self.batches for call in batch]

    def handle(self, calls: Sequence[GuestCall]) -> Sequence[CallReply]:
        self.batches.append(list(calls))
        return [self._reply(call) for call in calls]

    def _reply(self, call: GuestCall) -> CallReply:
        if call.function == "save":
            self.effects += 1
            return CallPlaceholder(effect=self.effects - 1)
        if call.function == "fail":
            return CallFailure(code="function.failed", message="no such customer")
        if call.function == "refuse":
            return CallFailure(code="validation.arguments", message="amount: expected integer")
        return CallValue(value=self._values[call.function](call.args))

    @property
    def _values(self) -> dict[str, Callable[[JsonValue], JsonValue]]:
        return {
            "echo": lambda args: args,
            "rows": lambda args: [{"id": i, "name": f"row {i}"} for i in range(args["count"])],
            "big": lambda _: {"id": 2**63 - 1},
            "text": lambda args: "x" * args["bytes"],
            "nan": lambda _: float("nan"),
            "proto": lambda _: {"__proto__": {"admin": True}},
            "surrogate": lambda _: {"text": "\ud800"},
            "slow": _slow,
            "classify": _classify,
            "ai": _ai,
        }


def _slow(args: JsonValue) -> None:
    time.sleep(args["seconds"])


def _classify(args: JsonValue) -> JsonValue:
    """The first label for each text; nothing where there is no question, which is for the worker to refuse."""
    found = judge_call("classify", args)
    if not isinstance(found, ClassifyCall):
        return {"labels": [], "counts": {}}
    return found.value([found.question.labels[0]] * len(found.question.texts))


def _ai(args: JsonValue) -> JsonValue:
    """The data, whether or not the worker would take the question."""
    judge_call("ai", args)
    return args.get("data")


FUNCTIONS = ("echo", "rows", "big", "text", "nan", "proto", "surrogate", "slow", "save", "fail", "refuse")

Run = Callable[..., SandboxOutcome]


@pytest.fixture(scope="session")
def image() -> Image:
    """The compiled engine, once for all sandboxes of these tests."""
    return build_image()


@pytest.fixture(scope="session")
def sandbox(image: Image) -> Iterator[ChildSandbox]:
    sandbox = ChildSandbox(warm=2, children_max=4, image=image)
    assert sandbox.wait_warm(60)
    yield sandbox
    sandbox.close()


@pytest.fixture
def host() -> Host:
    return Host()


@pytest.fixture
def run(sandbox: ChildSandbox, host: Host) -> Run:
    """Runs a source, or the body of `run`, with a deadline of one second."""

    def run_source(
        source: str, *, params: JsonValue = None, seed: str = "seed", judge: bool = False, **limits: float
    ) -> SandboxOutcome:
        if not source.startswith("//") and "function run" not in source:
            source = f"async function run(params) {{ {source} }}"
        job = SandboxRun(
            source=source,
            functions=FUNCTIONS,
            judge=judge,
            params={} if params is None else params,
            now_ms=NOW_MS,
            seed=seed,
            limits=Limits.model_validate({"execute_seconds_max": 1, **limits}),
        )
        return sandbox.run(job, host.handle)

    return run_source


@pytest.fixture(scope="session")
def rss_bytes() -> Callable[[int], int]:
    """The largest resident memory that a process ever had."""

    def peak(pid: int) -> int:
        for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
        return 0

    return peak
