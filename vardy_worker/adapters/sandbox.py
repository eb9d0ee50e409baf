"""Runs programs in sandbox children: `ports.Sandbox` over `vardy_worker.sandbox`.

The parent trusts nothing that a child says: every frame is bounded, parsed and checked
against the limits here, and a child that says anything unexpected is killed.
"""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from vardy_worker.contracts.base import INT_SAFE_MAX, JsonValue
from vardy_worker.contracts.errors import JOB_ERRORS, SettingsError
from vardy_worker.contracts.execution import (
    CallFailure,
    CallPlaceholder,
    CallReply,
    CallValue,
    ConsoleLine,
    GuestCall,
    LimitHit,
    Ref,
    Returned,
    SandboxOutcome,
    SandboxRun,
    Stopped,
    StopProgram,
    Threw,
)
from vardy_worker.contracts.judge import JUDGE_FUNCTIONS
from vardy_worker.contracts.limits import MIB
from vardy_worker.sandbox import protocol
from vardy_worker.sandbox.places import Place, narrowed
from vardy_worker.sandbox.pool import (
    Child,
    ChildLost,
    ChildPool,
    ChildSilent,
    Image,
    PoolClosed,
    PoolFailed,
    PoolSize,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Handler = Callable[[Sequence[GuestCall]], Sequence[CallReply]]

KILL_MARGIN_SECONDS: Final = 0.15
"""A child that has not ended by itself so long after the deadline is killed."""
_DATA_BYTES_BASE: Final = 64 * MIB
_MAY_BE_LARGE: Final = re.compile(rb"[0-9]{16}")
_NO_LIMIT: Final = ""


class ChildSandbox:
    """Programs in pre-warmed child processes, for any number of threads at once.

    `warm` children are kept ready and `children_max` run at the most. A program may use at
    most `guest_memory_mib_max`, whatever its own limits say. A run waits for a free child
    for `wait_seconds_max`, which does not count against its deadline; a run that gets none
    ends as `LimitHit` `execution.sandbox_lost`. Compiling the engine takes about a second of
    both cores, in the background; `image`, from `build_image`, spares several sandboxes of one
    process all but the first.
    """

    def __init__(
        self,
        *,
        warm: int = 2,
        children_max: int = 16,
        guest_memory_mib_max: int = 64,
        wait_seconds_max: float = 30,
        programs_per_child_max: int = 500,
        image: Image | None = None,
    ) -> None:
        self._memory_mib_max = guest_memory_mib_max
        self._wait_seconds_max = wait_seconds_max
        size = PoolSize(warm=min(warm, children_max), most=children_max, programs_max=programs_per_child_max)
        self._pool = ChildPool(size, data_bytes_max=2 * guest_memory_mib_max * MIB + _DATA_BYTES_BASE, image=image)

    def run(self, run: SandboxRun, handle: Handler, *, started: Callable[[], None] | None = None) -> SandboxOutcome:
        """Runs one program to its end; see `ports.Sandbox`.

        Raises `SettingsError` when no child can be started on this machine.
        """
        try:
            child = self._pool.acquire(self._wait_seconds_max)
        except PoolFailed as error:
            raise SettingsError(str(error)) from error
        except PoolClosed:
            return _lost()
        if child is None:
            return _lost()
        session = _Session(
            child, run, handle, memory_bytes=min(run.limits.guest_memory_mib_max, self._memory_mib_max) * MIB
        )
        try:
            if started is not None:
                started()
            outcome = session.drive()
        except (ChildLost, ChildSilent, _Nonsense) as error:
            self._pool.discard(child)
            return session.timed_out() if isinstance(error, ChildSilent) else _lost()
        except BaseException:
            self._pool.discard(child)
            raise
        self._pool.release(child)
        return outcome

    def wait_warm(self, timeout_seconds: float) -> bool:
        """Whether the warm children are ready, waiting for them as long as said."""
        return self._pool.wait_warm(timeout_seconds)

    def confined(self) -> bool | None:
        """Whether the children run under the system-call filter (Linux on x86-64 and ARM64).

        None before the first child is ready.
        """
        return self._pool.confined()

    def child_pids(self) -> list[int]:
        """The child processes alive now."""
        return self._pool.pids()

    def close(self) -> None:
        """Ends every child. Programs still running end as `execution.sandbox_lost`."""
        self._pool.close()


class _Nonsense(Exception):  # noqa: N818 - what a child said, not a failure of ours
    """The child said what no honest child says."""


def _lost() -> LimitHit:
    return LimitHit(code="execution.sandbox_lost")


class _Session:
    """One program in one child."""

    def __init__(self, child: Child, run: SandboxRun, handle: Handler, memory_bytes: int) -> None:
        self._child = child
        self._run = run
        self._limits = run.limits
        self._judge = JUDGE_FUNCTIONS if run.judge else ()
        self._functions = (*run.functions, *self._judge)
        self._handle = handle
        self._memory_bytes = memory_bytes
        self._deadline = time.monotonic() + run.limits.execute_seconds_max
        self._calls = 0
        self._frame_bytes_max = memory_bytes + protocol.FRAME_SLACK_BYTES

    def drive(self) -> SandboxOutcome:
        """Runs the program. Raises `ChildLost`, `ChildSilent` and `_Nonsense`: kill the child."""
        self._send(protocol.START, self._start_body())
        while True:
            kind, body = self._receive()
            if kind != protocol.CALLS:
                return self._ended(kind, body)
            calls = self._parsed_calls(body)
            too_much = self._over_budget(calls, body)
            if too_much is not None:
                return self._abandon(too_much)
            try:
                replies = self._handle(calls)
            except StopProgram:
                return self._abandon(Stopped())
            if len(replies) != len(calls):
                msg = f"the handler gave {len(replies)} replies to {len(calls)} calls"
                raise RuntimeError(msg)
            if time.monotonic() >= self._deadline:
                return self._abandon(self.timed_out())
            message = _replies_message(replies)
            if len(message) > self._memory_bytes:
                return self._abandon(self._hit("execution.memory", "guest_memory_mib_max"))
            self._send(protocol.REPLIES, message)

    def timed_out(self) -> LimitHit:
        """The wall clock ran out."""
        return self._hit("execution.timeout", "execute_seconds_max")

    def _hit(self, code: str, limit: str, value: float | None = None) -> LimitHit:
        allowed = getattr(self._limits, limit) if limit else 0
        if limit == "guest_memory_mib_max":
            allowed = self._memory_bytes // MIB
        return LimitHit(code=code, limit=limit, limit_value=allowed, value=value)

    def _send(self, kind: int, body: bytes) -> None:
        self._child.send(kind, body, self._deadline + KILL_MARGIN_SECONDS)

    def _receive(self) -> tuple[int, bytes]:
        return self._child.receive(self._deadline + KILL_MARGIN_SECONDS, self._frame_bytes_max)

    def _start_body(self) -> bytes:
        run, limits = self._run, self._limits
        header = protocol.START_HEADER.pack(
            max(0.0, self._deadline - time.monotonic()),
            limits.guest_cpu_seconds_max,
            self._memory_bytes,
            run.now_ms,
        )
        job = {
            "source": run.source,
            "functions": list(run.functions),
            "judge": list(self._judge),
            "seed": run.seed,
            "calls": limits.calls_max,
            "args": limits.call_args_bytes_max,
            "output": limits.output_bytes_max,
            "console": min(limits.console_bytes_max, protocol.CONSOLE_BYTES_MAX),
        }
        params = _json(run.params)
        bigs = _large_integers({"params": run.params}) if _MAY_BE_LARGE.search(params) else []
        return header + _json(job)[:-1] + b',"bigs":' + _json(bigs) + b',"params":' + params + b"}"

    def _parsed_calls(self, body: bytes) -> list[GuestCall]:
        lines = body.split(b"\n")
        calls = []
        try:
            for index in range(0, len(lines) - 1, 2):
                head = json.loads(lines[index])
                calls.append(
                    GuestCall(
                        id=head["id"],
                        function=self._functions[_natural(head["f"])],
                        args=_parsed(lines[index + 1]),
                        refs=_refs(head["refs"]),
                        line=head["line"],
                        column=head["column"],
                    )
                )
        except (ValueError, KeyError, IndexError, TypeError, RecursionError) as error:
            raise _Nonsense from error
        if not calls or [call.id for call in calls] != list(range(self._calls, self._calls + len(calls))):
            raise _Nonsense
        self._calls += len(calls)
        return calls

    def _over_budget(self, calls: list[GuestCall], body: bytes) -> LimitHit | None:
        if self._calls > self._limits.calls_max:
            return self._hit("execution.calls_budget", "calls_max", self._calls)
        most = self._limits.call_args_bytes_max
        if len(body) > most:
            sizes = [len(line) for line in body.split(b"\n")[1 : 2 * len(calls) : 2]]
            if max(sizes) > most:
                call = calls[sizes.index(max(sizes))]
                place = {"function": call.function, "line": call.line, "column": call.column}
                hit = self._hit("execution.args_too_large", "call_args_bytes_max", max(sizes))
                return hit.model_copy(update=place)
        return None

    def _abandon(self, outcome: Stopped | LimitHit) -> SandboxOutcome:
        """Has the child drop the program, for whatever reason; keeps what was printed."""
        patience = time.monotonic() + KILL_MARGIN_SECONDS
        self._child.send(protocol.ABANDON, b"", patience)
        kind, body = self._child.receive(patience, self._frame_bytes_max)
        if kind != protocol.LIMIT:
            raise _Nonsense
        captured, _ = _captured(body)
        return outcome.model_copy(update=captured)

    def _ended(self, kind: int, body: bytes) -> SandboxOutcome:
        captured, said = _captured(body)
        if kind == protocol.LIMIT:
            return self._limit_reached(said).model_copy(update=captured)
        if kind != protocol.END:
            raise _Nonsense
        head, _, output = said.partition(b"\n")
        try:
            record = json.loads(head)
            captured["warnings"] = tuple(str(text) for text in record["warnings"])
            return self._outcome(record, output).model_copy(update=captured)
        except (ValueError, KeyError, TypeError, RecursionError, ValidationError) as error:
            raise _Nonsense from error

    def _outcome(self, record: dict[str, Any], output: bytes) -> SandboxOutcome:
        if record["k"] == "returned":
            most = self._limits.output_bytes_max
            if len(output) > most:
                return self._hit("execution.output_too_large", "output_bytes_max", len(output))
            return Returned(output=_parsed(output), output_refs=_refs(record["refs"]))
        if record["k"] == "threw":
            call_id = record["call"]
            reported = Place(line=record["line"], column=record["column"])
            place = narrowed(self._run.source, reported, record["message"])
            return Threw(
                code=_known(record["code"]),
                name=record["name"],
                message=record["message"],
                line=place.line,
                column=place.column,
                call_id=call_id if isinstance(call_id, int) and 0 <= call_id < self._calls else None,
            )
        code, field = _known(record["code"]), record.get("field", _NO_LIMIT)
        if code == "execution.memory":
            return self._hit(code, "guest_memory_mib_max")
        hit = self._hit(code, field if field in type(self._limits).model_fields else _NO_LIMIT, record.get("value"))
        call = {name: record[name] for name in ("function", "line", "column") if name in record}
        return LimitHit.model_validate({**hit.model_dump(), **call})

    def _limit_reached(self, reason: bytes) -> LimitHit:
        if reason == protocol.TIMEOUT:
            return self.timed_out()
        if reason == protocol.CPU:
            return self._hit("execution.cpu", "guest_cpu_seconds_max")
        if reason == protocol.MEMORY:
            return self._hit("execution.memory", "guest_memory_mib_max")
        if reason == protocol.STACK:
            return self._hit("execution.stack", _NO_LIMIT)
        return _lost()


def _natural(value: object) -> int:
    if not isinstance(value, int) or value < 0:
        raise ValueError(value)
    return value


def _known(code: str) -> str:
    if code not in JOB_ERRORS or not code.startswith("execution."):
        raise ValueError(code)
    return code


def _refs(found: list[dict[str, Any]]) -> tuple[Ref, ...]:
    return tuple(Ref(at=ref["at"], effect=ref["effect"], path=ref["path"]) for ref in found)


def _captured(body: bytes) -> tuple[dict[str, Any], bytes]:
    """What every end carries, and what follows it. Raises `_Nonsense`."""
    try:
        cpu_seconds, cut, console_bytes = protocol.END_HEADER.unpack_from(body)
        start = protocol.END_HEADER.size
        console = body[start : start + console_bytes]
        lines = tuple(_console_lines(console))
    except (ValueError, IndexError, ArithmeticError, protocol.FRAME_ERROR) as error:
        raise _Nonsense from error
    return {"cpu_ms": cpu_seconds * 1000, "console": lines, "console_truncated": cut}, body[start + console_bytes :]


def _console_lines(records: bytes) -> list[ConsoleLine]:
    lines = []
    at = 0
    while at < len(records):
        level, size = protocol.CONSOLE_RECORD.unpack_from(records, at)
        at += protocol.CONSOLE_RECORD.size
        text = records[at : at + size].decode(errors="replace")
        lines.append(ConsoleLine(level=protocol.CONSOLE_LEVELS[level], text=text))
        at += size
    return lines


def _parsed(text: bytes) -> JsonValue:
    """JSON that a guest wrote. Its integers are exact already, or a guest lies."""
    if _MAY_BE_LARGE.search(text):
        return json.loads(text, parse_int=_safe_integer)
    return json.loads(text)


def _safe_integer(digits: str) -> int | str:
    value = int(digits)
    return value if -INT_SAFE_MAX <= value <= INT_SAFE_MAX else digits


def _json(value: JsonValue) -> bytes:
    """Strict JSON in UTF-8; lone surrogates become U+FFFD. Raises `ValueError` for NaN and cycles."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def _replies_message(replies: Sequence[CallReply]) -> bytes:
    parts: list[bytes] = []
    bigs: list[list[str | int]] = []
    for index, reply in enumerate(replies):
        match reply:
            case CallValue(value=value):
                parts.append(_value_reply(index, value, bigs))
            case CallPlaceholder(effect=effect):
                parts.append(b"[1,%d]" % effect)
            case CallFailure(code=code, message=message):
                parts.append(_json([2, code, message]))
    return b'{"bigs":' + _json(bigs) + b',"replies":[' + b",".join(parts) + b"]}"


def _value_reply(index: int, value: JsonValue, bigs: list[list[str | int]]) -> bytes:
    try:
        text = _json(value)
        if _MAY_BE_LARGE.search(text):
            bigs += ([index, 1, *path] for path in _large_integers(value))
    except (ValueError, TypeError, RecursionError):
        return _json([2, "function.bad_result", "The result is not JSON."])
    return b"[0," + text + b"]"


def _large_integers(value: JsonValue) -> list[list[str | int]]:
    """Where integers beyond ±(2^53 - 1) are: the keys to each, and then its digits."""
    found: list[list[str | int]] = []
    waiting: list[tuple[list[str | int], JsonValue]] = [([], value)]
    while waiting:
        path, item = waiting.pop()
        if isinstance(item, dict):
            waiting += (([*path, key], inner) for key, inner in item.items() if not isinstance(inner, str | bool))
        elif isinstance(item, list | tuple):
            waiting += (
                ([*path, index], inner) for index, inner in enumerate(item) if not isinstance(inner, str | bool)
            )
        elif isinstance(item, int) and not isinstance(item, bool) and not -INT_SAFE_MAX <= item <= INT_SAFE_MAX:
            found.append([*path, str(item)])
    return found
