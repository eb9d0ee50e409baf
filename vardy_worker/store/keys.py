"""Every key that the store uses, under one namespace.

Scripts build the names of status indexes from `index_prefix`, because a job's status is
known only inside the script; so the store needs one Redis, not a Redis Cluster.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from vardy_worker.contracts.quota import QuotaOf


@dataclass(frozen=True, slots=True)
class Keys:
    """Names of keys and of the change channel."""

    namespace: str

    # --- one job ---------------------------------------------------------------------

    def job(self, job_id: str) -> str:
        """Hash: a field of `JobRecord` → its JSON; `_…` fields are the store's own."""
        return f"{self.namespace}:job:{job_id}"

    def effects(self, job_id: str) -> str:
        """Hash: position → JSON of the `EffectRecord`."""
        return f"{self.namespace}:job:{job_id}:effects"

    def journal(self, job_id: str) -> str:
        """List: JSON of each `JournalEntry`, oldest first."""
        return f"{self.namespace}:job:{job_id}:journal"

    def events(self, job_id: str) -> str:
        """List: JSON of each `Event`; an event's id is its place, counted from 1."""
        return f"{self.namespace}:job:{job_id}:events"

    def console(self, job_id: str) -> str:
        """String: JSON of the `ConsoleRecord`."""
        return f"{self.namespace}:job:{job_id}:console"

    def whole_job(self, job_id: str) -> tuple[str, ...]:
        """All that a job alone is stored in, in the order of the scripts."""
        own = (self.job, self.effects, self.journal, self.events, self.console)
        return tuple(key(job_id) for key in own)

    # --- all jobs --------------------------------------------------------------------

    @property
    def index_prefix(self) -> str:
        """Before the name of an index: sorted sets of job ids by time of creation."""
        return f"{self.namespace}:idx:"

    def index(self, name: str) -> str:
        """One index; `name` as made by `index_names` and `status_index`."""
        return self.index_prefix + name

    @property
    def due(self) -> str:
        """Sorted set: job id by the time when the reconciler must look at it."""
        return f"{self.namespace}:due"

    @property
    def rebuilding(self) -> str:
        """Hash: how far the present pass over live jobs has come, or when the next may begin."""
        return f"{self.namespace}:due:rebuilding"

    @property
    def expiring(self) -> str:
        """Sorted set: job id by the time when its keys expire."""
        return f"{self.namespace}:expiring"

    @property
    def expiring_indexes(self) -> str:
        """Hash: job id → JSON list of its indexes, to clean up after the job itself is gone."""
        return f"{self.namespace}:expiring:indexes"

    @property
    def changed(self) -> str:
        """Channel: id and status of every job that changed, as `job_01J… RUNNING`."""
        return f"{self.namespace}:changed"

    def idempotency(self, scope: str, key: str) -> str:
        """Hash: the job that a caller's Idempotency-Key made. Hashed: both parts are free text."""
        digest = hashlib.sha256(f"{len(scope)}:{scope}:{key}".encode()).hexdigest()
        return f"{self.namespace}:idempotency:{digest}"

    # --- the audit trail --------------------------------------------------------------

    def audit_chain(self, chain: str) -> str:
        """List: JSON of each `AuditEntry` of a chain that was not trimmed, oldest first."""
        return f"{self.namespace}:audit:chain:{chain}"

    @property
    def audit_heads(self) -> str:
        """Hash: chain → number and hash of its newest entry, as `5 3f2a…`."""
        return f"{self.namespace}:audit:heads"

    @property
    def audit_anchors(self) -> str:
        """Hash: chain → number and hash of its last entry that was trimmed; absent while none was."""
        return f"{self.namespace}:audit:anchors"

    @property
    def audit_chains(self) -> str:
        """Sorted set without scores: names of all chains, in their order."""
        return f"{self.namespace}:audit:chains"

    @property
    def audit_log(self) -> str:
        """Stream: chain and number of every entry, in order of recording, by the server's clock."""
        return f"{self.namespace}:audit:log"

    @property
    def audit_trimmed(self) -> str:
        """String: entries recorded before this time (ms) may have been trimmed."""
        return f"{self.namespace}:audit:trimmed"

    # --- documents and workers -------------------------------------------------------

    def document(self, collection: str, name: str) -> str:
        """List: JSON of each version of a document; its version is its place, counted from 1."""
        return f"{self.namespace}:doc:{collection}:{name}"

    def collection(self, collection: str) -> str:
        """Set: names of the documents in a collection."""
        return f"{self.namespace}:docs:{collection}"

    def receipt(self, token: str) -> str:
        """String: the reply to a document change that was applied; lives ten minutes."""
        return f"{self.namespace}:receipt:{token}"

    @property
    def key_uses(self) -> str:
        """Hash: id of an API key → the hour (ms) in which it was used last."""
        return f"{self.namespace}:key_uses"

    @property
    def workers(self) -> str:
        """Set: names of workers that were alive lately."""
        return f"{self.namespace}:workers"

    def worker(self, worker: str) -> str:
        """String with a time to live: JSON of a `WorkerSeen`."""
        return f"{self.namespace}:worker:{worker}"

    # --- the judge -------------------------------------------------------------------

    def judged(self, key: str) -> str:
        """String with a time to live: JSON of an answer of the judge; `key` is a SHA-256 in hex."""
        return f"{self.namespace}:judge:{key}"

    # --- rates -----------------------------------------------------------------------

    def rate(self, of: str, name: str) -> str:
        """String with a time to live: when the bucket of a key or person is full. Hashed, as ids are free text."""
        return f"{self.namespace}:rate:{of}:{hashlib.sha256(name.encode()).hexdigest()}"

    # --- totals of users --------------------------------------------------------------

    def totals(self, user: str) -> str:
        """Hash: hour since the epoch → JSON of the `EffectTotals` of what a user's plans did in it."""
        return f"{self.namespace}:totals:{hashlib.sha256(user.encode()).hexdigest()}"

    def corrections(self, user: str) -> str:
        """List: JSON of each `TotalsCorrection` that the totals do not hold yet."""
        return f"{self.totals(user)}:corrections"

    # --- what keys and people use -----------------------------------------------------

    @property
    def account_prefix(self) -> str:
        """Before the name of an account, as made by `account`.

        Behind the name follows `:jobs`, a set of the ids of unsettled jobs, or `:spent:` and
        a day since the epoch: a hash of `tokens` and `micro_usd`, which lives two days.
        """
        return f"{self.namespace}:account:"


def account(of: QuotaOf, id_: str) -> str:
    """Name of what a key or a person uses, free of spaces; ids of people are personal, and hashed."""
    return f"{of}:{id_ if of is QuotaOf.KEY else hashlib.sha256(id_.encode()).hexdigest()[:32]}"


ALL_INDEX = "all"


def status_index(status: str) -> str:
    """Name of the index of one status."""
    return f"status:{status}"


def index_names(*, kind: str, owner: str, user: str, recipe: str | None) -> tuple[str, ...]:
    """Names of the indexes that a job stays in for life."""
    names = (ALL_INDEX, f"kind:{kind}", f"owner:{owner}", f"user:{user}")
    return names if recipe is None else (*names, f"recipe:{recipe}")
