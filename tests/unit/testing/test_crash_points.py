from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from structlog.testing import capture_logs

from vardy_worker import CallContext, FunctionError, Functions
from vardy_worker.testing import CrashReport, User, crash_points
from vardy_worker.testing.crash_host import Moment


@dataclass
class Bank:
    """What a function writes to. `moved` is what was really done."""

    moved: list[str] = field(default_factory=list)
    keys: dict[str, str] = field(default_factory=dict)
    contexts: list[CallContext] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self) -> int:
        return len(self.moved)

    def move_once(self, key: str) -> None:
        """The change and its key in one transaction."""
        if key not in self.keys:
            self.move(key)

    def move(self, key: str) -> None:
        """The same, without a look at the key."""
        self.keys[key] = "known"
        self.moved.append("x")


def write(bank: Bank, kind: str, **options: Any) -> Functions:
    """One function of that kind, registered as `pay`."""
    functions = Functions()
    functions.write(name="pay", **options)(KINDS[kind](bank))
    return functions


def with_key_in_one_step(bank: Bank) -> Callable[..., str]:
    def pay(context: CallContext, cents: int) -> str:
        """Right: the change and its key are one step."""
        bank.contexts.append(context)
        bank.move_once(context.idempotency_key)
        return f"{cents}"

    return pay


def async_with_key(bank: Bank) -> Callable[..., Any]:
    async def pay(context: CallContext, cents: int) -> str:
        """Right, and async."""
        bank.move_once(context.idempotency_key)
        return f"{cents}"

    return pay


def without_key(bank: Bank) -> Callable[..., str]:
    def pay(cents: int) -> str:
        """No key: every call moves money."""
        bank.moved.append("x")
        return f"{cents}"

    return pay


def async_without_key(bank: Bank) -> Callable[..., Any]:
    async def pay(cents: int) -> str:
        """No key, and async."""
        bank.moved.append("x")
        return f"{cents}"

    return pay


def key_first(bank: Bank) -> Callable[..., str]:
    def pay(context: CallContext, cents: int) -> str:
        """Wrong: the key is remembered before the change."""
        if context.idempotency_key in bank.keys:
            return "known"
        bank.keys[context.idempotency_key] = "known"
        bank.moved.append("x")
        return f"{cents}"

    return pay


def key_last(bank: Bank) -> Callable[..., str]:
    def pay(context: CallContext, cents: int) -> str:
        """Wrong: the key is remembered after the change."""
        if context.idempotency_key in bank.keys:
            return "known"
        bank.moved.append("x")
        bank.keys[context.idempotency_key] = "known"
        return f"{cents}"

    return pay


def key_looked_up_apart(bank: Bank) -> Callable[..., str]:
    def pay(context: CallContext, cents: int) -> str:
        """Wrong: right by itself, but two calls at once both find no key."""
        if context.idempotency_key not in bank.keys:
            bank.move(context.idempotency_key)
        return f"{cents}"

    return pay


def under_a_lock(bank: Bank) -> Callable[..., str]:
    def pay(context: CallContext, cents: int) -> str:
        """Right: whoever comes second waits."""
        with bank.lock:
            if context.idempotency_key not in bank.keys:
                bank.move(context.idempotency_key)
        return f"{cents}"

    return pay


def refuses_known_keys(bank: Bank) -> Callable[..., str]:
    def pay(context: CallContext, cents: int) -> str:
        """Wrong: a known key is refused instead of answered."""
        if context.idempotency_key in bank.keys:
            raise FunctionError("It was paid before.")
        bank.move_once(context.idempotency_key)
        return f"{cents}"

    return pay


def answers_otherwise(bank: Bank) -> Callable[..., str]:
    def pay(context: CallContext, cents: int) -> str:
        """Wrong: the money moves once, and each call names another receipt."""
        bank.contexts.append(context)
        bank.move_once(context.idempotency_key)
        return f"{cents}, receipt {len(bank.contexts)}"

    return pay


def fails_after_the_change(bank: Bank) -> Callable[..., str]:
    def pay(cents: int) -> str:
        """Wrong: FunctionError says that nothing was applied."""
        bank.moved.append("x")
        raise FunctionError(f"Cannot write the receipt of {cents}.")

    return pay


def pays_twice_at_once(bank: Bank) -> Callable[..., str]:
    def pay(cents: int) -> str:
        """Wrong by itself."""
        bank.moved.extend(["x", "x"])
        return f"{cents}"

    return pay


def always_refuses(bank: Bank) -> Callable[..., str]:
    def pay(cents: int) -> str:
        """Takes nothing."""
        raise FunctionError(f"Never {cents}, nor {bank.count()}.")

    return pay


KINDS = {
    made.__name__: made
    for made in (
        with_key_in_one_step,
        async_with_key,
        without_key,
        async_without_key,
        key_first,
        key_last,
        key_looked_up_apart,
        under_a_lock,
        refuses_known_keys,
        answers_otherwise,
        fails_after_the_change,
        pays_twice_at_once,
        always_refuses,
    )
}


def outcomes(functions: Functions, bank: Bank) -> tuple[dict[str, CrashReport], dict[str, str]]:
    """What came of each point: its report, or what was found wrong."""
    reports, problems = {}, {}
    for point in crash_points(functions, "pay"):
        try:
            reports[str(point)] = point.check({"cents": 5}, applied=bank.count)
        except AssertionError as error:
            problems[str(point)] = str(error)
    return reports, problems


@pytest.mark.parametrize("kind", ["with_key_in_one_step", "async_with_key"])
@pytest.mark.parametrize("retries", [0, 2])
def test_an_idempotent_function_is_right_at_every_point(kind: str, retries: int) -> None:
    bank = Bank()
    reports, problems = outcomes(write(bank, kind, idempotent=True, retries=retries), bank)
    assert problems == {}
    assert {report.job.status.value for report in reports.values()} == {"SUCCESS"}
    assert {report.applied for report in reports.values()} == {1}
    assert all(len({call.idempotency_key for call in report.calls}) == 1 for report in reports.values())
    assert not any("resolve" in step for report in reports.values() for step in report.operator)
    if retries:
        assert not any(report.operator for report in reports.values())


@pytest.mark.parametrize("kind", ["without_key", "async_without_key"])
def test_a_function_that_is_not_idempotent_is_settled_by_an_operator(kind: str) -> None:
    bank = Bank()
    reports, problems = outcomes(write(bank, kind), bank)
    assert problems == {}
    assert {report.applied for report in reports.values()} == {1}
    assert reports["lost-before-call"].operator == ("resolve not done", "requeue")
    assert reports["lost-after-call"].operator == ("resolve done", "requeue")
    assert reports["timed-out"].operator == ("resolve done", "requeue")
    assert reports["delivered-again"].operator == ()


@pytest.mark.parametrize("kind", ["without_key", "async_without_key"])
def test_a_function_that_only_says_that_it_is_idempotent_is_caught(kind: str) -> None:
    bank = Bank()
    reports, problems = outcomes(write(bank, kind, idempotent=True), bank)
    assert {"lost-after-call", "answer-lost", "timed-out"} < set(problems)
    assert {"lost-before-call", "delivered-again", "refused-once"} < set(reports)
    said = problems["lost-after-call"]
    assert "pay: its effect was applied 2 times" in said
    assert "context.idempotency_key" in said
    assert "after the call, before its outcome was written" in said
    assert "attempt 2 with key vdy_" in said


def test_a_key_that_is_remembered_too_early_loses_the_effect() -> None:
    bank = Bank()
    _, problems = outcomes(write(bank, "key_first", idempotent=True), bank)
    [said] = [said for name, said in problems.items() if name.startswith("lost-in-call-line-")]
    assert "its effect was lost" in said


def test_a_key_that_is_remembered_too_late_applies_it_twice() -> None:
    bank = Bank()
    _, problems = outcomes(write(bank, "key_last", idempotent=True), bank)
    [said] = [said for name, said in problems.items() if name.startswith("lost-in-call-line-")]
    assert "applied 2 times" in said


def test_a_key_that_is_looked_up_apart_lets_a_late_call_through() -> None:
    bank = Bank()
    _, problems = outcomes(write(bank, "key_looked_up_apart", idempotent=True), bank)
    [(name, said)] = problems.items()
    assert name.startswith("timed-out-line-")
    assert "applied 2 times" in said
    assert "went on in the background" in said


def test_a_lock_makes_the_next_call_wait_and_holds_nothing_up() -> None:
    bank = Bank()
    reports, problems = outcomes(write(bank, "under_a_lock", idempotent=True), bank)
    assert problems == {}
    late = [report for name, report in reports.items() if name.startswith("timed-out-line-") and report.happened]
    assert {tuple(sorted(call.attempt for call in report.calls)) for report in late} == {(1, 2)}


def test_a_repeated_call_that_is_refused_is_no_answer() -> None:
    bank = Bank()
    _, problems = outcomes(write(bank, "refuses_known_keys", idempotent=True), bank)
    assert {"lost-after-call", "answer-lost"} <= set(problems)
    assert "a repeated call was not answered" in problems["lost-after-call"]


def test_a_repeated_call_that_is_answered_otherwise_is_caught() -> None:
    bank = Bank()
    reports, problems = outcomes(write(bank, "answers_otherwise", idempotent=True), bank)
    assert {"lost-after-call", "answer-lost", "timed-out"} <= set(problems)
    assert "answered otherwise than the first time" in problems["lost-after-call"]
    assert {"lost-before-call", "delivered-again", "refused-once"} <= set(reports)


def test_a_function_error_after_the_change_is_caught() -> None:
    bank = Bank()
    _, problems = outcomes(write(bank, "fails_after_the_change"), bank)
    assert "says that nothing was applied, but its effect was" in problems["delivered-again"]


def test_a_call_that_does_the_work_twice_is_caught() -> None:
    bank = Bank()
    _, problems = outcomes(write(bank, "pays_twice_at_once"), bank)
    assert "one call must not do the work twice" in problems["delivered-again"]


def test_arguments_that_are_refused_show_nothing() -> None:
    bank = Bank()
    point = next(p for p in crash_points(write(bank, "always_refuses"), "pay") if p.moment is Moment.DELIVERED_AGAIN)
    with pytest.raises(AssertionError, match="it refuses these arguments"):
        point.check({"cents": 5}, applied=bank.count)
    with pytest.raises(ValueError, match="There is no effect to commit"):
        point.check({"cents": "five"})


def test_without_a_probe_what_nobody_knows_stays_unknown() -> None:
    bank = Bank()
    reports = {p.moment: p.check({"cents": 5}) for p in crash_points(write(bank, "without_key"), "pay")}
    report = reports[Moment.LOST_AFTER_CALL]
    assert (report.job.status, report.job.effects[0].state) == ("PARTIAL", "UNKNOWN")
    assert (report.applied, report.operator) == (None, ())


def test_each_line_is_a_point_and_one_that_is_not_reached_says_so() -> None:
    bank = Bank()
    functions = write(bank, "key_first", idempotent=True)
    lines = [point for point in crash_points(functions, "pay") if point.moment is Moment.LOST_IN_CALL]
    assert len(lines) == 5
    known = lines[1].check({"cents": 5}, applied=bank.count)
    assert not known.happened
    assert [call.ended for call in known.calls] == ["returned"]
    assert str(lines[1]) == f"lost-in-call-line-{lines[1].line}"


def test_functions_inside_it_and_decorators_around_it_are_no_obstacle() -> None:
    moved: list[int] = []
    functions = Functions()

    def logged(call: Callable[..., str]) -> Callable[..., str]:
        @functools.wraps(call)
        def wrapper(*args: Any, **kwargs: Any) -> str:
            return call(*args, **kwargs)

        return wrapper

    @functions.write
    @logged
    def pay(cents: int) -> str:
        """Pay."""

        def move() -> str:
            moved.append(cents)
            return f"{cents}"

        return move()

    reports = [
        p.check({"cents": 5}, applied=lambda: len(moved))
        for p in crash_points(functions, "pay")
        if p.moment is Moment.LOST_IN_CALL
    ]
    assert [(report.happened, report.applied) for report in reports] == [(True, 1)] * 4
    assert [report.operator[0] for report in reports] == [
        "resolve not done",
        "resolve not done",
        "resolve done",
        "resolve not done",
    ]


def test_an_object_that_is_called_is_no_obstacle() -> None:
    class Pay:
        """Pays."""

        def __call__(self, cents: int) -> str:
            """Pay."""
            bank.moved.append("x")
            return f"{cents}"

    bank, functions = Bank(), Functions()
    functions.write(name="pay")(Pay())
    reports, problems = outcomes(functions, bank)
    assert problems == {}
    assert len([report for report in reports.values() if report.point.moment is Moment.LOST_IN_CALL]) == 2


def test_a_short_timeout_is_no_obstacle() -> None:
    bank = Bank()
    _, problems = outcomes(write(bank, "with_key_in_one_step", idempotent=True, timeout_seconds=0.05), bank)
    assert problems == {}


def test_a_key_that_is_no_longer_valid_is_not_repeated() -> None:
    bank = Bank()
    reports, problems = outcomes(
        write(bank, "with_key_in_one_step", idempotent=True, key_valid_seconds=1, retries=1), bank
    )
    assert problems == {}
    assert reports["lost-after-call"].operator == ("resolve done", "requeue")


def test_the_context_is_that_of_production() -> None:
    bank = Bank()
    functions = write(bank, "with_key_in_one_step", idempotent=True, roles=["cashier"])
    [point] = [p for p in crash_points(functions, "pay") if p.moment is Moment.LOST_AFTER_CALL]
    report = point.check({"cents": 5})
    assert [context.attempt for context in bank.contexts] == [1, 2]
    assert {context.idempotency_key for context in bank.contexts} == {report.job.effects[0].idempotency_key}
    assert {context.user.roles for context in bank.contexts} == {("cashier",)}
    with pytest.raises(ValueError, match="There is no effect to commit"):
        point.check({"cents": 5}, user=User(id="ana"))


def test_the_message_comes_again_during_the_call_and_after_the_commit() -> None:
    bank = Bank()
    [point] = [p for p in crash_points(write(bank, "without_key"), "pay") if p.moment is Moment.DELIVERED_AGAIN]
    with capture_logs() as lines:
        point.check({"cents": 5}, applied=bank.count)
    refused = [line["reason"] for line in lines if line["event"] == "commit.not_claimed"]
    assert refused == ["leased", "status"]


def test_hooks_run_for_each_point_and_the_functions_stay_as_they_are() -> None:
    bank, seen = Bank(), []
    functions = write(bank, "without_key")
    functions.on_start(lambda: seen.append("open"))
    functions.on_stop(lambda: seen.append("closed"))
    [registered] = functions
    call = registered.call
    crash_points(functions, "pay")[0].check({"cents": 5}, applied=bank.count)
    assert seen == ["open", "closed"]
    assert registered.call is call


def test_no_thread_is_left_behind() -> None:
    bank = Bank()
    before = set(threading.enumerate())
    outcomes(write(bank, "async_with_key", idempotent=True, retries=1), bank)
    assert [t.name for t in set(threading.enumerate()) - before if t.name in {"vardy-leases", "vardy-late-call"}] == []


def test_only_registered_writes_have_points() -> None:
    functions = Functions()

    @functions.read
    def look(place: str) -> str:
        """Look."""
        return place

    with pytest.raises(ValueError, match="look is a read"):
        crash_points(functions, "look")
    with pytest.raises(ValueError, match="There is no function 'luk'; there are: look"):
        crash_points(functions, "luk")
