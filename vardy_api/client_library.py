"""The client's methods about what a deployment has: functions, rules, programs, prompts, queues."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_api import client_calls as calls
from vardy_api.client_arguments import as_names, as_statuses, as_user, checked, job_id_of, named
from vardy_api.client_flows import Flow, Flows
from vardy_api.rule_shapes import RulesTest
from vardy_api.shapes import ProgramCheck, PromptRequest, RulesPut
from vardy_worker.contracts.job import JobKind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from vardy_api.client_arguments import Person, Statuses
    from vardy_api.rule_shapes import RulesTestPage
    from vardy_api.shapes import CheckedProgram, HealthView, PromptView, QueuesView, RulesView
    from vardy_worker.contracts.base import JsonObject
    from vardy_worker.contracts.functions import Catalogue
    from vardy_worker.contracts.view import JobView


class LibraryFlows(Flows):
    """Programs, functions, rules, prompts, queues."""

    def check_program(
        self,
        source: str | None = None,
        *,
        text: str | None = None,
        user: Person = None,
        functions: Sequence[str] | None = None,
        judge: bool = False,
    ) -> Flow[CheckedProgram]:
        """Checks a program, or the one in a model's `text`. Findings are an answer, no exception."""
        with checked():
            body = ProgramCheck(
                source=source, text=text, user=as_user(user), functions=as_names(functions), judge=judge
            )
        return (yield from self._perform(calls.check_program(body)))

    def functions(self) -> Flow[Catalogue]:
        """The catalogue of the company's functions, as a worker published it."""
        return (yield from self._perform(calls.read_functions()))

    def rules(self) -> Flow[RulesView]:
        """The active rules."""
        return (yield from self._perform(calls.read_rules()))

    def apply_rules(self, text: str, *, user: Person = None, expect_version: int | None = None) -> Flow[RulesView]:
        """Makes these the active rules. Raises `Invalid` `rules.invalid` with every problem."""
        with checked():
            request = RulesPut(text=text, user=as_user(user), expect_version=expect_version)
        return (yield from self._perform(calls.put_rules(request, dry_run=False)))

    def check_rules(self, text: str) -> Flow[RulesView]:
        """Checks rules against the catalogue without applying them."""
        with checked():
            request = RulesPut(text=text)
        return (yield from self._perform(calls.put_rules(request, dry_run=True)))

    def test_rules(
        self,
        text: str,
        *,
        job: JobView | str | None = None,
        status: Statuses = None,
        kind: JobKind | str | None = None,
        user: str | None = None,
        recipe: str | None = None,
        created_after: datetime | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> Flow[RulesTestPage]:
        """What a rules file would have said of the stored plan of `job`, or of a page of the newest jobs.

        `limit` jobs are looked at; those without a plan are left out. Nothing is changed. Raises
        `Invalid` `rules.invalid` with every problem.
        """
        with checked():
            request = RulesTest(
                text=text,
                job=None if job is None else job_id_of(job),
                status=as_statuses(status),
                kind=None if kind is None else named(JobKind, kind, "kind"),
                user=user,
                recipe=recipe,
                created_after=created_after,
                cursor=cursor,
                limit=limit,
            )
        return (yield from self._perform(calls.try_rules(request)))

    def prompt(
        self,
        request: str,
        *,
        kind: JobKind | str = JobKind.RUN,
        params: JsonObject | None = None,
        user: Person = None,
        functions: Sequence[str] | None = None,
        judge: bool = False,
    ) -> Flow[PromptView]:
        """Exactly what would be sent to the model, for a run or an explore; nothing is."""
        with checked():
            body = PromptRequest(
                request=request,
                kind=named(JobKind, kind, "kind"),
                judge=judge,
                params=params or {},
                user=as_user(user),
                functions=as_names(functions),
            )
        return (yield from self._perform(calls.preview_prompt(body)))

    def queues(self) -> Flow[QueuesView]:
        """The queues and the workers that serve them."""
        return (yield from self._perform(calls.read_queues()))

    def health(self) -> Flow[HealthView]:
        """Whether the API is ready; that it is not is an answer, and no exception."""
        return (yield from self._perform(calls.read_health()))
