"""What was promised of plans, rules and approvals, as simply as it can be said: the model of `test_plan_life`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from hypothesis import strategies as st

from tests.support.remote import IDEMPOTENT
from vardy_worker import FunctionError
from vardy_worker.contracts.decision import Choice
from vardy_worker.contracts.status import Status as S  # noqa: N817 - the table below reads like one

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.support.remote import Remote
    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.contracts.journal import JournalEntry

ARGUMENTS: Final = {"pay": "amount", "ring": "who", "book": "day"}
WRITES: Final = tuple(ARGUMENTS)
PEOPLE: Final = ("ana", "lea", "leo", "finn")
ROLES: Final = ((), ("lead",), ("finance",), ("lead", "finance"), ("lead", "finance"), ("lead", "finance"))

MOVES: Final = {
    S.QUEUED: {S.RUNNING, S.CANCELLED},
    S.RUNNING: {S.COMMITTING, S.PLANNED, S.PENDING_APPROVAL, S.POLICY_BLOCKED, S.CANCELLED},
    S.PLANNED: {S.COMMITTING, S.PENDING_APPROVAL, S.POLICY_BLOCKED, S.CANCELLED},
    S.PENDING_APPROVAL: {S.COMMITTING, S.POLICY_BLOCKED, S.CANCELLED},
    S.COMMITTING: {S.SUCCESS, S.PARTIAL, S.FUNCTION_ERROR, S.POLICY_BLOCKED, S.CANCELLED, S.PENDING_APPROVAL},
    S.PARTIAL: {S.COMMITTING},
    S.FUNCTION_ERROR: {S.COMMITTING},
}
"""How a job with a plan may move; from every other status it never does."""


@dataclass(frozen=True)
class Need:
    """One approval: people with one of the roles (none: anybody), and how many of them."""

    roles: tuple[str, ...] = ()
    quorum: int = 1

    def counts(self, roles: tuple[str, ...]) -> bool:
        return not self.roles or bool({*self.roles} & {*roles})


@dataclass(frozen=True)
class RuleOf:
    """One rule, for one function."""

    function: str
    then: str
    need: Need = Need()

    def text(self, number: int) -> str:
        asks = f", approvers: {{roles: [{', '.join(self.need.roles)}], quorum: {self.need.quorum}}}"
        return (
            f"- {{name: r{number}, on: [{self.function}], then: {self.then}{asks if self.then == 'approve' else ''}}}"
        )


@dataclass(frozen=True)
class Law:
    """Rules as the model knows them. `broken` ones cannot even be read, and let nothing through."""

    default: str
    rules: tuple[RuleOf, ...] = ()
    broken: bool = False

    def text(self) -> str:
        if self.broken:
            return "default: perhaps\n"
        lines = "\n".join(each.text(number) for number, each in enumerate(self.rules))
        return f"default: {self.default}\nrules:\n{lines}\n" if self.rules else f"default: {self.default}\n"

    def blocks(self, functions: tuple[str, ...]) -> bool:
        return self.broken or any("block" in self._says(function) for function in functions)

    def needs(self, functions: tuple[str, ...]) -> list[Need]:
        asked = [each.need for each in self.rules if each.function in functions and each.then == "approve"]
        by_default = self.default == "approve" and any(self._unmatched(function) for function in functions)
        return asked + ([Need()] if by_default else [])

    def _says(self, function: str) -> set[str]:
        return {each.then for each in self.rules if each.function == function} or {self.default}

    def _unmatched(self, function: str) -> bool:
        return all(each.function != function for each in self.rules)


@dataclass
class Model:
    """What was promised of one job."""

    requester: str
    functions: tuple[str, ...]
    said: dict[str, tuple[Choice, tuple[str, ...]]] = field(default_factory=dict)
    """Each person's newest word on the plan with `digest`, with the roles they had."""
    digest: str = ""
    text: str = ""
    begun: bool = False
    """The commit was let through by the rules, and is not asked again until it is requeued."""
    not_done: dict[int, int] = field(default_factory=dict)
    journal: tuple[JournalEntry, ...] = ()
    ended: JobRecord | None = None

    def satisfied(self, needs: list[Need]) -> bool:
        return all(
            sum(
                choice is Choice.APPROVE
                and person != self.requester
                and (not need.roles or bool({*need.roles} & {*has}))
                for person, (choice, has) in self.said.items()
            )
            >= need.quorum
            for need in needs
        )

    def refusals(
        self, person: str, roles: tuple[str, ...], choice: Choice, *, asked: list[Need], parked: bool
    ) -> set[str]:
        """Every reason not to take a person's word."""
        refused = {
            "job.conflict": not parked,
            "approval.requester": person == self.requester and choice is Choice.APPROVE,
            "approval.role": not any(need.counts(roles) for need in asked),
        }
        return {code for code, applies in refused.items() if applies}

    def check_applied(self, journal: Sequence[JournalEntry], remote: Remote) -> set[str]:
        """Holds the target against what was promised of each effect; the keys that the journal tells of."""
        told: dict[int, set[str]] = {}
        for entry in journal:
            told.setdefault(entry.seq, set()).add(entry.idempotency_key)
        for seq, keys in told.items():
            times = sum(remote.applied(key) for key in keys)
            calls = sum(remote.reached(key) for key in keys)
            if self.functions[seq] in IDEMPOTENT:
                assert times <= 1
            else:
                assert calls <= 1 + self.not_done.get(seq, 0)
            assert times == 0 or len(keys) == 1, "what may be applied keeps its key"
        return {key for keys in told.values() for key in keys}

    def _counts(self, person: str, choice: Choice) -> bool:
        return choice is Choice.APPROVE and person != self.requester


# --- what may be drawn ------------------------------------------------------------------------

needs = st.builds(Need, st.sampled_from([(), ("lead",), ("finance",)]), st.integers(1, 2))
verdicts = st.sampled_from(["approve"] * 5 + ["allow"] * 3 + ["block"])
laws = st.builds(
    Law,
    st.sampled_from(["approve"] * 4 + ["allow"] * 4 + ["block"]),
    st.lists(st.builds(RuleOf, st.sampled_from(WRITES), verdicts, needs), max_size=3).map(tuple),
    broken=st.sampled_from([False] * 9 + [True]),
)
picks = st.integers(0, 20)
seldom = st.sampled_from([False] * 4 + [True])
"""For steps after which little can happen any more."""
persons = st.tuples(
    st.sampled_from(PEOPLE),
    st.sampled_from(ROLES),
    st.sampled_from(["shop", "panel", "phone"]),
    st.sampled_from([Choice.APPROVE] * 15 + [Choice.DENY]),
    st.sampled_from([False] * 8 + [True]),
)
"""Who decides, with which roles, by which key and how, and whether on a plan that was shown earlier."""


Word: TypeAlias = "tuple[str, tuple[str, ...], str, Choice, bool]"
Crash: TypeAlias = "tuple[int, bool, bool] | None"
Fails: TypeAlias = "list[tuple[str, str]]"
STRICT: Final = Law("approve", tuple(RuleOf(function, "approve", Need(("lead",), 2)) for function in WRITES))
"""What was approved under most other laws is not enough under this one."""
crashes = st.none() | st.tuples(st.integers(0, 14), st.booleans(), st.booleans())
"""After how many steps the worker dies, whether after the last of them, and whether its message comes again."""
FAILURES: Final[dict[str, Callable[[], Exception]]] = {
    "refuses": lambda: FunctionError("no"),
    "later": lambda: FunctionError("later", retryable=True, retry_after_seconds=2),
    "crashes": lambda: RuntimeError("lost"),
}
failures = st.lists(st.tuples(st.sampled_from(WRITES), st.sampled_from(list(FAILURES))), max_size=1)
