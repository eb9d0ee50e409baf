"""The judge of texts, and where its answers are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vardy_worker.contracts.base import JsonValue
    from vardy_worker.contracts.judge import JudgeBudget, Judged, JudgeQuestion


class Judge(Protocol):
    """The model behind `classify` and `ai`."""

    def ask(self, questions: Sequence[JudgeQuestion], *, job_id: str, budget: JudgeBudget, deadline: float) -> Judged:
        """Answers all questions of one tick, concurrently, by `deadline` (monotonic seconds).

        A question that the budget does not cover fails before any call is made for it. What
        goes wrong is a `JudgeFailure` in its place, never an exception.
        """


class JudgeCache(Protocol):
    """Answers of the judge by a key that names model, question and text by their digest.

    Raises `VardyError`, such as `StoreUnavailable`; the judge then does without.
    """

    def get_many(self, keys: Sequence[str]) -> Mapping[str, JsonValue]:
        """Those that are kept, each as it was put; what cannot be read is not there."""

    def put_many(self, answers: Mapping[str, JsonValue], *, keep_seconds: int) -> None:
        """Keeps answers for so long (at least a second), in the place of what was kept."""
