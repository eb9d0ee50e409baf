"""A child that lies: whatever it says, the parent stays whole and the run ends in a documented way."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from vardy_worker.adapters.sandbox import ChildSandbox
from vardy_worker.contracts.errors import JOB_ERRORS
from vardy_worker.contracts.execution import CallValue, LimitHit, Returned, SandboxRun, Threw
from vardy_worker.contracts.limits import Limits
from vardy_worker.sandbox import pool, protocol

LIAR = """
import json, socket, sys
if sys.argv[1] == "build":
    print("{}")
    sys.exit()
connection = socket.socket(fileno=int(sys.argv[3]))
connection.sendall(bytes([0, 0, 0, 1, 16]))
connection.recv(1 << 20)
with open(LIES, "rb") as file:
    connection.sendall(file.read())
while connection.recv(1 << 20):
    pass
"""


def frame(kind: int, body: bytes) -> bytes:
    return protocol.FRAME.pack(len(body) + 1, kind) + body


def end(record: object, output: bytes = b"1", console: bytes = b"") -> bytes:
    header = protocol.END_HEADER.pack(0.001, False, len(console))  # noqa: FBT003 - packed by place
    return frame(protocol.END, header + console + json.dumps(record).encode() + b"\n" + output)


def calls(*heads: object, args: bytes = b"{}") -> bytes:
    return frame(protocol.CALLS, b"".join(json.dumps(head).encode() + b"\n" + args + b"\n" for head in heads))


HONEST = {"k": "returned", "refs": [], "warnings": []}
CALL = {"id": 0, "f": 0, "line": 1, "column": 1, "refs": []}
LIES = {
    "nothing": b"",
    "half-a-frame": protocol.FRAME.pack(100, protocol.END) + b"abc",
    "endless-frame": protocol.FRAME.pack(2**32 - 1, protocol.END),
    "empty-frame": protocol.FRAME.pack(0, protocol.END),
    "unknown-kind": frame(99, b""),
    "ready-again": frame(protocol.READY, b""),
    "short-end": frame(protocol.END, b"\0"),
    "no-json": frame(protocol.END, protocol.END_HEADER.pack(0, False, 0) + b"{"),  # noqa: FBT003 - packed by place
    "other-json": end([1, 2]),
    "no-kind": end({"warnings": []}),
    "unknown-code": end({"k": "limit", "code": 7, "warnings": []}),
    "odd-warnings": end({**HONEST, "warnings": 7}),
    "odd-refs": end({**HONEST, "refs": [{"at": 1}]}),
    "no-output": end(HONEST, b""),
    "deep-output": end(HONEST, b"[" * 90 + b"]" * 9),
    "broken-utf8": end(HONEST, b'"\xff"'),
    "console-beyond-the-body": frame(protocol.END, protocol.END_HEADER.pack(0, False, 10_000)),  # noqa: FBT003
    "console-level": end(HONEST, console=protocol.CONSOLE_RECORD.pack(200, 0)),
    "limit-unknown": frame(protocol.LIMIT, protocol.END_HEADER.pack(0, False, 0) + b"hunger"),  # noqa: FBT003
    "no-calls": frame(protocol.CALLS, b""),
    "unknown-function": calls({**CALL, "f": 9}),
    "negative-function": calls({**CALL, "f": -1}),
    "odd-function": calls({**CALL, "f": "f"}),
    "wrong-id": calls({**CALL, "id": 5}),
    "repeated-id": calls(CALL, CALL),
    "odd-line": calls({**CALL, "line": "x"}),
    "broken-arguments": calls(CALL, args=b"{"),
}


@pytest.fixture
def liar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    lies = tmp_path / "lies"
    script = tmp_path / "liar.py"
    script.write_text(LIAR.replace("LIES", repr(str(lies))), encoding="utf-8")
    monkeypatch.setattr(pool, "_ENTRY", str(script))
    return lies


def run(seconds: float = 5) -> object:
    sandbox = ChildSandbox(warm=1, children_max=1)
    try:
        job = SandboxRun(
            source="",
            functions=("f",),
            now_ms=0,
            seed="",
            limits=Limits(execute_seconds_max=seconds, calls_max=2, output_bytes_max=100, call_args_bytes_max=100),
        )
        return sandbox.run(job, lambda batch: [CallValue(value=1) for _ in batch])
    finally:
        sandbox.close()


@pytest.mark.parametrize("name", LIES)
def test_nonsense_from_a_child_ends_the_run_as_lost(liar: Path, name: str) -> None:
    liar.write_bytes(LIES[name])
    silent = name in {"nothing", "half-a-frame"}
    outcome = run(0.2 if silent else 5)
    assert isinstance(outcome, LimitHit)
    assert outcome.code == ("execution.timeout" if silent else "execution.sandbox_lost")


def test_the_honest_frame_that_the_lies_differ_from_is_accepted(liar: Path) -> None:
    liar.write_bytes(end(HONEST))
    outcome = run()
    assert isinstance(outcome, Returned)
    assert outcome.output == 1


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (end(HONEST, b'"' + b"x" * 200 + b'"'), "execution.output_too_large"),
        (calls(CALL, {**CALL, "id": 1}, {**CALL, "id": 2}), "execution.calls_budget"),
        (calls(CALL, args=b'{"a":"' + b"x" * 200 + b'"}'), "execution.args_too_large"),
    ],
)
def test_the_parent_enforces_the_limits_whatever_the_child_does(liar: Path, said: bytes, code: str) -> None:
    liar.write_bytes(said + frame(protocol.LIMIT, protocol.END_HEADER.pack(0, False, 0) + protocol.ABANDONED))  # noqa: FBT003
    outcome = run()
    assert isinstance(outcome, LimitHit)
    assert outcome.code == code


def test_large_integers_in_what_a_child_says_become_text(liar: Path) -> None:
    liar.write_bytes(end(HONEST, b"[9223372036854775807]"))
    outcome = run()
    assert isinstance(outcome, Returned)
    assert outcome.output == ["9223372036854775807"]


@pytest.mark.parametrize("seed", range(12))
def test_damaged_frames_never_hang_or_break_the_parent(liar: Path, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - a reproducible test, no secret
    data = bytearray(chance.choice([end(HONEST), calls(CALL), end({**HONEST, "k": "threw"})]))
    for _ in range(chance.randint(1, 6)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    liar.write_bytes(bytes(data))
    outcome = run(0.3)
    assert isinstance(outcome, Returned | LimitHit | Threw)
    if not isinstance(outcome, Returned):
        assert outcome.code in JOB_ERRORS
