"""A child that lies: whatever it says, the parent stays whole and the run ends in a documented way."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path

import pytest
from hypothesis import strategies as st

from tests.support.fuzzing import TIMEOUT_SECONDS, fuzz, within
from vardy_worker.adapters import sandbox as adapter
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
    "odd-code": end({"k": "limit", "code": 7, "warnings": []}),
    "unknown-limit": end({"k": "limit", "code": "execution.hunger", "warnings": []}),
    "unknown-code": end(
        {"k": "threw", "code": "execution.hunger", "name": "", "message": "", "line": 0, "column": 0, "call": -1}
        | {"warnings": []}
    ),
    "code-of-another-stage": end({"k": "limit", "code": "policy.blocked", "warnings": []}),
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


SERVING_LIAR = """
import base64, json, socket, struct, sys
connection = socket.socket(fileno=int(sys.argv[3]))

def take(count):
    data = b""
    while len(data) < count:
        got = connection.recv(count - len(data))
        if not got:
            sys.exit()
        data += got
    return data

connection.sendall(bytes([0, 0, 0, 1, 16]))
lies = []
while True:
    length, kind = struct.unpack("!IB", take(5))
    body = take(length - 1)
    if kind == START:
        lies = json.loads(json.loads(body[HEADER:])["source"])
    if not lies:
        sys.exit()
    connection.sendall(base64.b64decode(lies.pop(0)))
"""
"""Says, to each frame that it gets, the next of the lies that came as the source of its program, then ends."""

THREW = {"k": "threw", "code": "execution.thrown", "name": "E", "message": "m", "line": 1, "column": 2, "call": 0}
HIT = {"k": "limit", "code": "execution.calls_budget", "field": "calls_max", "value": 9, "function": "f", "line": 1}
REF = {"at": "/a", "effect": 0, "path": ""}
ENDS = ({**HONEST, "refs": [REF]}, {**THREW, "warnings": ["w"]}, {**HIT, "warnings": []})
REASONS = (protocol.TIMEOUT, protocol.CPU, protocol.MEMORY, protocol.STACK, protocol.ABANDONED, b"hunger", b"")
ODD: st.SearchStrategy[object] = st.sampled_from(
    [None, True, -1, 0, 2**70, 1.5, 1e300, "", "x", "execution.made_up", "\ud800", [], [REF], [None], {}]
)
TEXTS = st.sampled_from(
    [b"", b"1", b"null", b'{"a":null}', b'{"n":9223372036854775807}', b"1e999", b"NaN", b'"\xff"', b"{", b"[" * 3000]
)


@st.composite
def records(draw: st.DrawFn, honest: st.SearchStrategy[dict[str, object]]) -> dict[str, object]:
    """What an honest child says, with fields that are odd or left out."""
    record = dict(draw(honest))
    for name in draw(st.lists(st.sampled_from(sorted(record)), max_size=2)):
        if draw(st.booleans()):
            record[name] = draw(ODD)
        else:
            record.pop(name, None)
    return record


def limit(cpu_seconds: float, console_bytes: int, said: bytes) -> bytes:
    header = protocol.END_HEADER.pack(cpu_seconds, True, console_bytes)  # noqa: FBT003 - packed by place
    return frame(protocol.LIMIT, header + said)


CONSOLES = st.builds(protocol.CONSOLE_RECORD.pack, st.integers(0, 6), st.integers(0, 3)).map(lambda head: head + b"hi")
FRAMES = (
    st.builds(end, records(st.sampled_from(ENDS)), TEXTS, CONSOLES | st.just(b""))
    | st.builds(calls, records(st.just({**CALL, "refs": [REF]})), args=TEXTS)
    | st.builds(calls, records(st.just(CALL)), records(st.just({**CALL, "id": 1})), args=TEXTS)
    | st.builds(limit, st.floats(width=32), st.integers(0, 9), st.sampled_from(REASONS))
    | st.builds(frame, st.integers(0, 30), st.binary(max_size=30))
)


@st.composite
def lies(draw: st.DrawFn) -> bytes:
    """A frame, now and then with bytes changed, taken out, put in and cut off."""
    data = bytearray(draw(FRAMES))
    changes = draw(st.sampled_from([0, 0, 1, 3]))
    for _ in range(changes):
        at = draw(st.integers(0, len(data)))
        match draw(st.sampled_from(["change", "take", "put", "cut"])):
            case "change":
                data[at : at + 1] = draw(st.binary(min_size=1, max_size=1))
            case "take":
                del data[at : at + draw(st.integers(1, 8))]
            case "put":
                data[at:at] = draw(st.binary(max_size=8))
            case _:
                del data[at:]
    start = protocol.FRAME.size - 1
    if len(data) > start and draw(st.integers(0, 9)):
        # Its length is right again, so that what is inside is looked at.
        data[:start] = struct.pack("!I", len(data) - start)
    return bytes(data)


@pytest.mark.timeout(TIMEOUT_SECONDS)
def test_damaged_frames_never_hang_or_break_the_parent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, image: pool.Image
) -> None:
    script = tmp_path / "liar.py"
    header = str(protocol.START_HEADER.size)
    script.write_text(SERVING_LIAR.replace("START", str(protocol.START)).replace("HEADER", header), encoding="utf-8")
    monkeypatch.setattr(pool, "_ENTRY", str(script))
    monkeypatch.setattr(adapter, "KILL_MARGIN_SECONDS", 0.05)  # a lie that is cut short is waited for
    sandbox = ChildSandbox(warm=2, children_max=4, image=image)

    def act(said: list[bytes]) -> None:
        job = SandboxRun(
            source=json.dumps([base64.b64encode(data).decode() for data in said]),
            functions=("f",),
            now_ms=0,
            seed="",
            limits=Limits(execute_seconds_max=0.05, calls_max=3, output_bytes_max=100, call_args_bytes_max=100),
        )
        outcome = within(3, lambda: sandbox.run(job, lambda batch: [CallValue(value=1) for _ in batch]))
        assert isinstance(outcome, Returned | LimitHit | Threw)
        if not isinstance(outcome, Returned):
            assert outcome.code in JOB_ERRORS

    try:
        assert fuzz(act, said=st.lists(lies(), min_size=1, max_size=4))
    finally:
        sandbox.close()
