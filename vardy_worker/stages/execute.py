"""Runs a program in the sandbox: reads and questions to the judge at once, writes as recorded effects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from vardy_worker.contracts.base import canonical_json
from vardy_worker.contracts.errors import ErrorInfo
from vardy_worker.contracts.execution import (
    CallFailure,
    CallPlaceholder,
    CallSummary,
    CallValue,
    EffectDraft,
    LimitHit,
    Returned,
    SandboxRun,
    Stopped,
    StopProgram,
    Threw,
    ValueShape,
)
from vardy_worker.contracts.functions import FunctionKind
from vardy_worker.contracts.job import ConsoleRecord
from vardy_worker.contracts.judge import JUDGE_FUNCTIONS, JudgeFailure
from vardy_worker.ports import BadArguments, CallFailed, CallOk, CallUnknown, FunctionCall
from vardy_worker.programs.judge_arguments import BadJudgeCall, judge_call
from vardy_worker.prompts import property_names, shape_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vardy_worker.contracts.base import JsonObject, JsonValue
    from vardy_worker.contracts.execution import CallReply, GuestCall, Ref, SandboxOutcome
    from vardy_worker.contracts.functions import Catalogue, FunctionSpec
    from vardy_worker.contracts.limits import Limits
    from vardy_worker.contracts.program import Program
    from vardy_worker.contracts.user import User
    from vardy_worker.judge.session import JudgeSession
    from vardy_worker.ports import CallOutcome, Clock, FunctionHost, Sandbox
    from vardy_worker.programs.judge_arguments import JudgeCall


@dataclass(frozen=True, slots=True)
class ExecuteInput:
    """One program and everything it may touch. `catalogue` is the user's own part."""

    job_id: str
    program: Program
    catalogue: Catalogue
    params: JsonObject
    user: User
    limits: Limits
    now_ms: int


@dataclass(frozen=True, slots=True)
class Trace:
    """What every execution leaves behind, however it ended."""

    calls: tuple[CallSummary, ...]
    warnings: tuple[str, ...]
    console: ConsoleRecord
    shapes: tuple[ValueShape, ...] = ()
    """What the last call of each read returned, as types, keys and lengths."""


@dataclass(frozen=True, slots=True)
class Executed:
    """The program ended well. `output` is null where `output_refs` points to an effect's result."""

    output: JsonValue
    output_refs: tuple[Ref, ...]
    effects: tuple[EffectDraft, ...]
    trace: Trace


@dataclass(frozen=True, slots=True)
class NotExecuted:
    """The program failed, and nothing was changed; `error.code` decides the status."""

    error: ErrorInfo
    trace: Trace


def execute(
    given: ExecuteInput, *, sandbox: Sandbox, host: FunctionHost, clock: Clock, judge: JudgeSession | None = None
) -> Executed | NotExecuted:
    """Runs the program to its end within its limits. Only with a `judge` it has `classify` and `ai`."""
    bridge = _Bridge(given, host, clock, judge)
    run = SandboxRun(
        source=given.program.source,
        functions=tuple(spec.name for spec in given.catalogue.functions),
        judge=judge is not None,
        params=given.params,
        now_ms=given.now_ms,
        seed=given.job_id,
        limits=given.limits,
    )
    outcome = sandbox.run(run, bridge.handle, started=bridge.start)
    trace = Trace(
        calls=tuple(bridge.calls),
        warnings=outcome.warnings + bridge.caught_failures(outcome) + (() if judge is None else judge.warnings()),
        console=ConsoleRecord(lines=outcome.console, truncated=outcome.console_truncated),
        shapes=() if isinstance(outcome, Returned) else bridge.shapes(),
    )
    match outcome:
        case Returned():
            return Executed(outcome.output, outcome.output_refs, tuple(bridge.effects), trace)
        case Threw():
            return NotExecuted(_thrown(outcome, bridge, given.program), trace)
        case LimitHit():
            return NotExecuted(_limit_error(outcome, given.program), trace)
        case Stopped():
            return NotExecuted(bridge.stop_error(), trace)


@dataclass(slots=True)
class _Bridge:
    """Answers the calls of one program, and remembers what they did."""

    given: ExecuteInput
    host: FunctionHost
    clock: Clock
    judge: JudgeSession | None
    deadline: float = 0
    calls: list[CallSummary] = field(default_factory=list)
    effects: list[EffectDraft] = field(default_factory=list)
    failures: dict[int, ErrorInfo] = field(default_factory=dict)
    returned: dict[str, JsonValue] = field(default_factory=dict)
    plan_bytes: int = 0
    stopped_by: ErrorInfo | None = None

    def start(self) -> None:
        """The program's time begins: its calls have no more of it than the program itself."""
        self.deadline = self.clock.monotonic() + self.given.limits.execute_seconds_max

    def handle(self, batch: Sequence[GuestCall]) -> list[CallReply]:
        """The replies to the calls of one tick, in call order.

        Reads run concurrently. Then the judge is asked all questions together, so that equal
        texts are asked once and others share calls.
        """
        replies: dict[int, CallReply] = {}
        reads: list[tuple[GuestCall, FunctionCall]] = []
        questions: list[tuple[GuestCall, JudgeCall]] = []
        for call in batch:
            spec = self.given.catalogue.get(call.function)
            if self.judge is not None and call.function in JUDGE_FUNCTIONS:
                question = self._question(call)
                if isinstance(question, CallFailure):
                    replies[call.id] = question
                else:
                    questions.append((call, question))
            elif spec is None:
                self._stop("execution.internal", f"The sandbox asked for {call.function}, which this job has not.")
            elif spec.kind is FunctionKind.WRITE:
                replies[call.id] = self._record(call, spec)
            else:
                args = self._read_args(call)
                if isinstance(args, CallFailure):
                    replies[call.id] = args
                else:
                    reads.append((call, self._function_call(call, args)))
        outcomes = self.host.call_many(
            [read for _, read in reads],
            deadline=self.deadline,
            in_flight_max=self.given.limits.calls_in_flight_max,
            result_bytes_max=self.given.limits.call_result_bytes_max,
        )
        for (call, _), outcome in zip(reads, outcomes, strict=True):
            replies[call.id] = self._reply(call, outcome)
        if self.judge is not None and questions:
            answers = self.judge.ask([question for _, question in questions], deadline=self.deadline)
            for (call, _), answer in zip(questions, answers, strict=True):
                replies[call.id] = self._judged(call, answer)
        return [replies[call.id] for call in batch]

    def shapes(self) -> tuple[ValueShape, ...]:
        """The shapes of what reads returned, for a repair; never the values."""
        shapes = []
        for function, value in self.returned.items():
            spec = self.given.catalogue.get(function)
            # A key can be data too, so only those of the schema are named.
            known = property_names(spec.output_schema) if spec else frozenset()
            shape = shape_of(value, known=known, lengths=True)
            shapes.append(ValueShape(label=f"{function} returned", shape=shape))
        return tuple(shapes)

    def caught_failures(self, outcome: SandboxOutcome) -> tuple[str, ...]:
        """Warnings for the calls that failed without ending the program."""
        if not isinstance(outcome, Returned):
            return ()
        return tuple(
            f"{call.function} failed ({call.code}) and the program went on." for call in self.calls if not call.ok
        )

    def stop_error(self) -> ErrorInfo:
        """Why the handler ended the program."""
        return self.stopped_by or ErrorInfo(code="execution.internal", message="The program was stopped.")

    def _function_call(self, call: GuestCall, args: JsonObject) -> FunctionCall:
        return FunctionCall(function=call.function, args=args, job_id=self.given.job_id, user=self.given.user)

    def _read_args(self, call: GuestCall) -> JsonObject | CallFailure:
        if call.refs:
            return self._refers_to_write(call, "reads")
        checked = self.host.check(call.function, call.args, ())
        if isinstance(checked, BadArguments):
            return self._fail(call, self._bad_arguments(call, checked))
        return checked.args

    def _question(self, call: GuestCall) -> JudgeCall | CallFailure:
        if call.refs:
            return self._refers_to_write(call, "asks")
        found = judge_call(call.function, call.args)
        return self._fail(call, self._bad_arguments(call, found)) if isinstance(found, BadJudgeCall) else found

    def _refers_to_write(self, call: GuestCall, does: str) -> CallFailure:
        message = f"{call.function} {does} at once, so it cannot take the result of a write, which does not exist yet."
        return self._fail(call, ErrorInfo(code="execution.placeholder", message=message, details=self._place(call)))

    def _judged(self, call: GuestCall, answer: CallValue | JudgeFailure) -> CallReply:
        if isinstance(answer, JudgeFailure):
            details = answer.details | self._place(call)
            return self._fail(call, ErrorInfo(code=answer.code, message=answer.message, details=details))
        self.calls.append(CallSummary(id=call.id, function=call.function, ok=True))
        return answer

    def _record(self, call: GuestCall, spec: FunctionSpec) -> CallPlaceholder:
        checked = self.host.check(
            call.function, call.args, call.refs, effects=[effect.function for effect in self.effects]
        )
        if isinstance(checked, BadArguments):
            error = self._bad_arguments(call, checked)
            self._stop(error.code, error.message, **error.details)
        limits = self.given.limits
        if len(self.effects) >= limits.effects_max:
            self._stop(
                "execution.effects_budget",
                f"The plan would have more than {limits.effects_max} effects (VARDY_EFFECTS_MAX).",
                limit="effects_max",
                limit_value=limits.effects_max,
            )
        draft = EffectDraft(function=spec.name, version=spec.version, args=checked.args, refs=call.refs)
        self.plan_bytes += len(canonical_json(draft.model_dump(mode="json")))
        if self.plan_bytes > limits.plan_bytes_max:
            self._stop(
                "execution.plan_too_large",
                f"The plan is larger than {limits.plan_bytes_max:,} bytes (VARDY_PLAN_BYTES_MAX).",
                limit="plan_bytes_max",
                limit_value=limits.plan_bytes_max,
                value=self.plan_bytes,
            )
        self.effects.append(draft)
        self.calls.append(CallSummary(id=call.id, function=call.function, ok=True))
        return CallPlaceholder(effect=len(self.effects) - 1)

    def _reply(self, call: GuestCall, outcome: CallOutcome) -> CallReply:
        match outcome:
            case CallOk():
                self.calls.append(CallSummary(id=call.id, function=call.function, ok=True))
                self.returned[call.function] = outcome.value
                return CallValue(value=outcome.value)
            case CallFailed():
                error = ErrorInfo(
                    code="function.failed",
                    message=f"{call.function} failed: {outcome.message}",
                    details=self._place(call),
                )
                return self._fail(call, error, seen=outcome.message)
            case CallUnknown():
                details = self._place(call) | {"correlation_id": outcome.correlation_id}
                return self._fail(call, ErrorInfo(code=outcome.code, message=outcome.message, details=details))

    def _fail(self, call: GuestCall, error: ErrorInfo, *, seen: str = "") -> CallFailure:
        self.failures[call.id] = error
        self.calls.append(CallSummary(id=call.id, function=call.function, ok=False, code=error.code))
        return CallFailure(code=error.code, message=seen or error.message)

    def _place(self, call: GuestCall) -> JsonObject:
        return {"function": call.function, **_place(self.given.program, call.line, call.column)}

    def _bad_arguments(self, call: GuestCall, bad: BadArguments | BadJudgeCall) -> ErrorInfo:
        first = bad.problems[0]
        where = f"argument {first['at']}" if first.get("at") else "the arguments"
        return ErrorInfo(
            code="validation.arguments",
            message=f"{call.function}: {where}: {first['message']}",
            details=self._place(call) | {"problems": list(bad.problems)},
        )

    def _stop(self, code: str, message: str, **details: object) -> NoReturn:
        self.stopped_by = ErrorInfo(code=code, message=message, details=details)
        raise StopProgram


def _place(program: Program, line: int, column: int) -> JsonObject:
    """`line` in what the model wrote, and `program_line` in the program as the job shows it."""
    if not line:
        return {}
    return {"line": program.model_line(line), "column": column, "program_line": line}


def _thrown(outcome: Threw, bridge: _Bridge, program: Program) -> ErrorInfo:
    failure = bridge.failures.get(outcome.call_id) if outcome.call_id is not None else None
    if failure is not None:
        return failure
    details: JsonObject = {"name": outcome.name}
    details |= _place(program, outcome.line, outcome.column)
    said = outcome.message or "(no message)"
    if outcome.code == "execution.thrown":
        said = f"The program threw {outcome.name or 'an error'}: {said}"
    return ErrorInfo(code=outcome.code, message=said, details=details)


_LIMIT_SENTENCES = {
    "execution.timeout": "The program took longer than {limit:g} s, host calls included",
    "execution.cpu": "The program computed for longer than {limit:g} s",
    "execution.memory": "The program needed more memory than {limit:g} MiB",
    "execution.stack": "The program recursed too deeply, or a value is nested too deeply",
    "execution.deadlock": "The program waits for a promise that nothing can settle",
    "execution.calls_budget": "The program made more than {limit:g} function calls",
    "execution.args_too_large": "The arguments of a call are larger than {limit:,.0f} bytes",
    "execution.output_too_large": "The program returned more than {limit:,.0f} bytes; return a smaller result",
    "execution.sandbox_lost": "The sandbox process ended unexpectedly; nothing was changed",
}


def _limit_error(outcome: LimitHit, program: Program) -> ErrorInfo:
    sentence = _LIMIT_SENTENCES.get(outcome.code, "The program hit a limit").format(limit=outcome.limit_value)
    details: JsonObject = {}
    if outcome.limit:
        sentence += f" (VARDY_{outcome.limit.upper()})"
        details = {"limit": outcome.limit, "limit_value": outcome.limit_value}
        if outcome.value is not None:
            details["value"] = outcome.value
    if outcome.function:
        sentence += f", in a call of {outcome.function}"
        details["function"] = outcome.function
    details |= _place(program, outcome.line, outcome.column)
    return ErrorInfo(code=outcome.code, message=sentence + ".", details=details)
