"""The part of the client that is not about one job: programs, rules, functions, keys, audit, queues."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

from vardy_api import client_calls as calls
from vardy_api import client_flows as flows
from vardy_api.client_flows import as_user
from vardy_api.client_recipes import RecipeClient, job_id_of
from vardy_api.rule_shapes import RulesTest
from vardy_api.shapes import KeyChange, KeyCreate, KeyRotate, ProgramCheck, PromptRequest, RulesPut
from vardy_worker.contracts.audit import Action
from vardy_worker.contracts.job import JobKind
from vardy_worker.contracts.quota import KeyQuota
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import Scope, User

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from vardy_api.rule_shapes import RulesTestPage
    from vardy_api.shapes import (
        CheckedProgram,
        HealthView,
        KeyView,
        NewKeyView,
        PromptView,
        QueuesView,
        RulesView,
        TrailCheckPage,
        UsageView,
    )
    from vardy_worker.contracts.audit import AuditPage
    from vardy_worker.contracts.base import JsonObject
    from vardy_worker.contracts.functions import Catalogue
    from vardy_worker.contracts.view import JobView

EXPORT_LINES = 1000
"""Lines of the audit trail asked for at once; a request that is lost is sent again for these alone."""
Person: TypeAlias = User | str | dict[str, Any] | None
"""A user as contract, mapping or bare id; None where the key is bound to a person."""


class LibraryClient(RecipeClient):
    """What a deployment has and how it is administered; `Vardy` adds the jobs and the connection."""

    def check_program(
        self,
        source: str | None = None,
        *,
        text: str | None = None,
        user: Person = None,
        functions: Sequence[str] | None = None,
        judge: bool = False,
    ) -> CheckedProgram:
        """Checks a program, or the one in a model's `text`. Findings are an answer, no exception."""
        only = None if functions is None else tuple(functions)
        body = ProgramCheck(source=source, text=text, user=as_user(user), functions=only, judge=judge)
        return self._drive(flows.perform(calls.check_program(body)))

    def functions(self) -> Catalogue:
        """The catalogue of the company's functions, as a worker published it."""
        return self._drive(flows.perform(calls.read_functions()))

    def rules(self) -> RulesView:
        """The active rules."""
        return self._drive(flows.perform(calls.read_rules()))

    def apply_rules(self, text: str, *, user: Person = None, expect_version: int | None = None) -> RulesView:
        """Makes these the active rules. Raises `Invalid` `rules.invalid` with every problem."""
        request = RulesPut(text=text, user=as_user(user), expect_version=expect_version)
        return self._drive(flows.perform(calls.put_rules(request, dry_run=False)))

    def check_rules(self, text: str) -> RulesView:
        """Checks rules against the catalogue without applying them."""
        return self._drive(flows.perform(calls.put_rules(RulesPut(text=text), dry_run=True)))

    def test_rules(
        self,
        text: str,
        *,
        job: JobView | str | None = None,
        status: Sequence[Status | str] | Status | str | None = None,
        kind: JobKind | str | None = None,
        user: str | None = None,
        recipe: str | None = None,
        created_after: datetime | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> RulesTestPage:
        """What a rules file would have said of the stored plan of `job`, or of a page of the newest jobs.

        `limit` jobs are looked at; those without a plan are left out. Nothing is changed. Raises
        `Invalid` `rules.invalid` with every problem.
        """
        named = (status,) if isinstance(status, str) else status or ()
        request = RulesTest(
            text=text,
            job=None if job is None else job_id_of(job),
            status=tuple(Status(name) for name in named),
            kind=None if kind is None else JobKind(kind),
            user=user,
            recipe=recipe,
            created_after=created_after,
            cursor=cursor,
            limit=limit,
        )
        return self._drive(flows.perform(calls.try_rules(request)))

    def prompt(
        self,
        request: str,
        *,
        kind: JobKind | str = JobKind.RUN,
        params: JsonObject | None = None,
        user: Person = None,
        functions: Sequence[str] | None = None,
        judge: bool = False,
    ) -> PromptView:
        """Exactly what would be sent to the model, for a run or an explore; nothing is."""
        body = PromptRequest(
            request=request,
            kind=JobKind(kind),
            judge=judge,
            params=params or {},
            user=as_user(user),
            functions=None if functions is None else tuple(functions),
        )
        return self._drive(flows.perform(calls.preview_prompt(body)))

    # --- administration ------------------------------------------------------------------------------

    def keys(self) -> tuple[KeyView, ...]:
        """All API keys, without their secrets."""
        pages = self._drive(flows.all_pages(lambda cursor: calls.list_keys(cursor=cursor)))
        return tuple(key for page in pages for key in page.items)

    def key(self, key_id: str) -> KeyView:
        """One API key, without its secret."""
        return self._drive(flows.perform(calls.read_key(key_id)))

    def create_key(
        self,
        scopes: Sequence[Scope | str],
        *,
        name: str = "",
        owner: str = "",
        person: Person = None,
        expires_in_seconds: int | None = None,
        quota: KeyQuota | dict[str, float | None] | None = None,
    ) -> NewKeyView:
        """Makes an API key; its secret is in the answer, and nowhere else. `quota` are ceilings of its own."""
        request = KeyCreate(
            name=name,
            owner=owner,
            scopes=tuple(Scope(scope) for scope in scopes),
            person=as_user(person),
            expires_in_seconds=expires_in_seconds,
            quota=KeyQuota.model_validate(quota or {}),
        )
        return self._drive(flows.perform(calls.create_key(request)))

    def revoke_key(self, key_id: str) -> KeyView:
        """Ends a key at once."""
        return self._drive(flows.perform(calls.revoke_key(key_id)))

    def change_key(self, key_id: str, *, quota: KeyQuota | dict[str, float | None]) -> KeyView:
        """Sets ceilings of a key; those left out stay, None takes the key's own away, 0 is none."""
        change = KeyChange(quota=KeyQuota.model_validate(quota))
        return self._drive(flows.perform(calls.change_key(key_id, change)))

    def rotate_key(self, key_id: str, *, keep_seconds: int = 0) -> NewKeyView:
        """Gives a key a new secret, which is in the answer, and nowhere else; all else of the key stays.

        The secret before it still works for `keep_seconds`; with 0 it ends at once.
        """
        return self._drive(flows.perform(calls.rotate_key(key_id, KeyRotate(keep_seconds=keep_seconds))))

    def usage(self) -> UsageView:
        """What the key of this client, and its person, may use and use."""
        return self._drive(flows.perform(calls.read_usage()))

    def audit(
        self,
        *,
        job: JobView | str | None = None,
        chain: str | None = None,
        by: str | None = None,
        action: Action | str | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AuditPage:
        """One page of the audit trail, newest first; it may be short, and only `next` says whether it was the last."""
        filters = {
            "job": None if job is None else job_id_of(job),
            "chain": chain,
            "by": by,
            "action": None if action is None else Action(action).value,
            "after": None if after is None else after.isoformat(),
            "before": None if before is None else before.isoformat(),
        }
        return self._drive(flows.perform(calls.list_audit(filters, cursor=cursor, limit=limit)))

    def verify_audit(self, chain: str | None = None) -> Iterator[TrailCheckPage]:
        """The check of every chain of the audit trail, or of one, page by page. A broken chain is an answer."""
        cursor = None
        while True:
            page = self._drive(flows.perform(calls.verify_audit(chain, cursor=cursor)))
            yield page
            cursor = page.next
            if cursor is None:
                return

    def export_audit(self, *, after: str = "") -> Iterator[bytes]:
        """Every entry as one line of JSON, in order of recording, after the `place` of a line that is there already."""
        while True:
            lines = self._drive(flows.perform(calls.export_audit(after, limit=EXPORT_LINES)))
            yield from lines
            if len(lines) < EXPORT_LINES:
                return
            after = str(json.loads(lines[-1])["place"])

    def queues(self) -> QueuesView:
        """The queues and the workers that serve them."""
        return self._drive(flows.perform(calls.read_queues()))

    def health(self) -> HealthView:
        """Whether the API is ready; raises only `Unreachable`."""
        return self._drive(flows.perform(calls.read_health()))
