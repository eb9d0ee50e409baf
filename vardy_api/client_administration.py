"""The client's methods about keys, what they use, and the audit trail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_api import client_calls as calls
from vardy_api.client_arguments import as_quota, as_time, as_tuple, as_user, checked, job_id_of, named
from vardy_api.client_flows import Flow, Flows, Item, Stream
from vardy_api.shapes import KeyChange, KeyCreate, KeyRotate
from vardy_worker.contracts.audit import Action
from vardy_worker.contracts.user import Scope

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from vardy_api.client_arguments import Person
    from vardy_api.shapes import KeyView, NewKeyView, TrailCheckPage, UsageView
    from vardy_worker.contracts.audit import AuditPage
    from vardy_worker.contracts.quota import KeyQuota
    from vardy_worker.contracts.view import JobView

EXPORT_LINES = 1000
"""Lines of the audit trail asked for at once; a request that is lost is sent again for these alone."""
SHORT_LINES_MAX = 2
"""So many answers in a row with fewer lines end an export; new entries alone would never end it."""


class AdministrationFlows(Flows):
    """Keys, usage, the audit trail."""

    def keys(self) -> Flow[tuple[KeyView, ...]]:
        """All API keys, without their secrets."""
        return (yield from self._all(lambda cursor: calls.list_keys(cursor=cursor)))

    def key(self, key_id: str) -> Flow[KeyView]:
        """One API key, without its secret."""
        return (yield from self._perform(calls.read_key(key_id)))

    def create_key(
        self,
        scopes: Sequence[Scope | str],
        *,
        name: str = "",
        owner: str = "",
        person: Person = None,
        expires_in_seconds: int | None = None,
        quota: KeyQuota | Mapping[str, float | None] | None = None,
    ) -> Flow[NewKeyView]:
        """Makes an API key; its secret is in the answer, and nowhere else. `quota` are ceilings of its own."""
        with checked():
            request = KeyCreate(
                name=name,
                owner=owner,
                scopes=tuple(named(Scope, scope, "scopes") for scope in as_tuple(scopes, "scopes")),
                person=as_user(person, "person"),
                expires_in_seconds=expires_in_seconds,
                quota=as_quota(quota or {}),
            )
        return (yield from self._perform(calls.create_key(request)))

    def revoke_key(self, key_id: str) -> Flow[KeyView]:
        """Ends a key at once."""
        return (yield from self._perform(calls.revoke_key(key_id)))

    def change_key(self, key_id: str, *, quota: KeyQuota | Mapping[str, float | None]) -> Flow[KeyView]:
        """Sets ceilings of a key; those left out stay, None takes the key's own away, 0 is none."""
        change = KeyChange(quota=as_quota(quota))
        return (yield from self._perform(calls.change_key(key_id, change)))

    def rotate_key(self, key_id: str, *, keep_seconds: int = 0) -> Flow[NewKeyView]:
        """Gives a key a new secret, which is in the answer, and nowhere else; all else of the key stays.

        The secret before it still works for `keep_seconds`; with 0 it ends at once.
        """
        with checked():
            request = KeyRotate(keep_seconds=keep_seconds)
        return (yield from self._perform(calls.rotate_key(key_id, request)))

    def usage(self, *, user: str | None = None, key: str | None = None) -> Flow[UsageView]:
        """What the key of this client, and its person, may use and use.

        A key without a person names one with `user`; with the scope `admin`, `key` asks for another key.
        """
        return (yield from self._perform(calls.read_usage(user, key)))

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
    ) -> Flow[AuditPage]:
        """One page of the audit trail, newest first; it may be short, and only `next` says whether it was the last."""
        filters = {
            "job": None if job is None else job_id_of(job),
            "chain": chain,
            "by": by,
            "action": None if action is None else named(Action, action, "action"),
            "after": as_time(after, "after"),
            "before": as_time(before, "before"),
        }
        return (yield from self._perform(calls.list_audit(filters, cursor=cursor, limit=limit)))

    def verify_audit(self, chain: str | None = None) -> Stream[TrailCheckPage]:
        """The check of every chain of the audit trail, or of one, page by page. A broken chain is an answer."""
        cursor = None
        while True:
            page = yield from self._perform(calls.verify_audit(chain, cursor=cursor))
            yield Item(page)
            cursor = page.next
            if cursor is None:
                return

    def export_audit(self, *, after: str = "") -> Stream[bytes]:
        """Every entry as one line of JSON, in order of recording, after the `place` of a line that is there already."""
        short = 0
        # A proxy may end an answer early without a sign of it, so one that is short does not say that it was the last.
        while short < SHORT_LINES_MAX:
            lines = yield from self._perform(calls.export_audit(after, limit=EXPORT_LINES))
            for line in lines:
                yield Item(line)
            if not lines:
                return
            short = short + 1 if len(lines) < EXPORT_LINES else 0
            after = calls.place_of(lines[-1])
