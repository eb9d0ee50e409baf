"""Records as stored: each field of a job as its own JSON, so that a change rewrites only what it sets.

Fields that begin with `_` are the store's: what listings and clean-up need without
parsing whole records.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from pydantic import TypeAdapter

from vardy_worker.contracts.erasure import may_be_erased
from vardy_worker.contracts.errors import RecordTooNew
from vardy_worker.contracts.events import Event
from vardy_worker.contracts.job import SCHEMA, JobRecord, JobSummary
from vardy_worker.contracts.quota import QuotaOf
from vardy_worker.contracts.status import UNSETTLED, WAITING_FOR_PEOPLE, Status, can_move
from vardy_worker.store.keys import account, index_names, status_index

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from vardy_worker.contracts.plan import Plan

REQUEST_CHARS_MAX: Final = 200
"""How much of a request a listing shows."""

LIVE: Final = UNSETTLED | WAITING_FOR_PEOPLE
"""Jobs that somebody still works on or decides: they have a due time and never expire."""

_KEPT_BY_STORE: Final = frozenset(
    {"id", "version", "fence", "deliveries", "lease_until_ms", "worker", "status", "erased_at_ms"}
)
_FIXED: Final = frozenset({"schema_", "kind", "owner", "key_id", "quotas", "created_at_ms", "effects"})
_SETTABLE: Final = frozenset(JobRecord.model_fields) - _KEPT_BY_STORE - _FIXED

# Scripts and listings read these, so they are stored even at their defaults.
_ALWAYS: Final = frozenset({"schema_", "kind", "status", "version", "fence", "deliveries", "lease_until_ms"})

SUMMARY_FIELDS: Final = (
    "status",
    "kind",
    "stage",
    "owner",
    "created_at_ms",
    "settled_at_ms",
    "expires_at_ms",
    "erased_at_ms",
    "_request",
    "_recipe",
    "_user",
    "_error_code",
    "_effects_total",
)


@cache
def _adapter(field: str) -> TypeAdapter[Any]:
    annotation: Any = JobRecord.model_fields[field].annotation
    return TypeAdapter(annotation)


@cache
def _default(field: str) -> Any:
    """The default; a value that equals nothing (`PydanticUndefined`) for a required field."""
    return JobRecord.model_fields[field].get_default(call_default_factory=True, validated_data={})


def stored_name(field: str) -> str:
    """A field's name in the stored record."""
    return JobRecord.model_fields[field].alias or field


def dump_json(value: Any) -> bytes:
    """Compact JSON. Raises `ValueError` for NaN and Infinity, which no record may hold."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _dump_field(field: str, value: Any) -> bytes:
    # What is at its default is left out, as in the whole record (of a large plan's verdicts that is a
    # quarter). So another default means another `SCHEMA`.
    adapter = _adapter(field)
    return adapter.dump_json(adapter.validate_python(value), by_alias=True, exclude_defaults=True)


def _derived(field: str, value: Any) -> dict[str, bytes]:
    """The store's own fields that follow from a field of the record."""
    match field:
        case "submission":
            request = value.request
            return {
                "_request": dump_json(None if request is None else request[:REQUEST_CHARS_MAX]),
                "_recipe": dump_json(value.recipe),
                "_user": dump_json(value.user.id),
            }
        case "error":
            return {"_error_code": dump_json(value.code if value else None)}
        case "plan":
            return {"_effects_total": dump_json(_effects_total(value))}
        case _:
            return {}


def _effects_total(plan: Plan | None) -> int:
    return len(json.loads(plan.text)["effects"]) if plan and plan.text else 0


def encode_record(record: JobRecord) -> dict[str, bytes]:
    """The stored fields of a whole record; those at their defaults are left out."""
    fields: dict[str, bytes] = {}
    for name in JobRecord.model_fields:
        value = getattr(record, name)
        if name == "effects" or (name not in _ALWAYS and value == _default(name)):
            continue
        fields[stored_name(name)] = _dump_field(name, value)
        fields |= _derived(name, value)
    if record.is_erased:
        fields["_effects_total"] = dump_json(len(record.effects))
    else:
        fields["_accounts"] = " ".join(record_accounts(record).values()).encode()
    fields["_indexes"] = dump_json(record_indexes(record))
    return fields


def record_indexes(record: JobRecord) -> tuple[str, ...]:
    """Names of the indexes that a job stays in for life."""
    submission = record.submission
    return index_names(kind=record.kind, owner=record.owner, user=submission.user.id, recipe=submission.recipe)


def record_accounts(record: JobRecord) -> dict[QuotaOf, str]:
    """Names of the accounts that a job is counted on: its key's, where it has one, and its person's."""
    user = {QuotaOf.USER: account(QuotaOf.USER, record.submission.user.id)}
    return user if not record.key_id else {QuotaOf.KEY: account(QuotaOf.KEY, record.key_id), **user}


def submit_indexes(record: JobRecord) -> tuple[str, ...]:
    """Names of all indexes of a new job, its status included."""
    return (*record_indexes(record), status_index(record.status))


def encode_changes(changes: Mapping[str, Any]) -> dict[str, bytes]:
    """The stored fields of `Change.set`.

    Raises `ValueError` for a field that a change may not set, and pydantic's
    `ValidationError` (a `ValueError`) for a value that does not fit its field.
    """
    fields: dict[str, bytes] = {}
    for name, value in changes.items():
        if name not in _SETTABLE:
            msg = f"a change cannot set {name!r}: the store keeps it, or there is no such field"
            raise ValueError(msg)
        fields[stored_name(name)] = _dump_field(name, value)
        fields |= _derived(name, value)
    return fields


def decode_record(fields: Mapping[bytes, bytes], effects: Iterable[bytes]) -> JobRecord:
    """The record of stored fields and effects.

    Raises `RecordTooNew` for a record that a newer Vardy wrote.
    """
    schema = json.loads(fields[b"schema"])
    if schema > SCHEMA:
        job_id = json.loads(fields[b"id"])
        msg = f"Job {job_id} was written by a newer Vardy: schema {schema}, above {SCHEMA}. Upgrade this process."
        raise RecordTooNew(msg, details={"job_id": job_id, "schema": schema, "schema_max": SCHEMA})
    parts = [b'"%b":%b' % (name, value) for name, value in fields.items() if not name.startswith(b"_")]
    parts.append(b'"effects":[%b]' % b",".join(effects))
    return JobRecord.model_validate_json(b"{%b}" % b",".join(parts))


def decode_summary(job_id: str, values: Iterable[bytes | None]) -> JobSummary:
    """A summary from the values of `SUMMARY_FIELDS`."""
    known = {
        name.removeprefix("_"): json.loads(value)
        for name, value in zip(SUMMARY_FIELDS, values, strict=True)
        if value is not None
    }
    known["stage"] = known.get("stage") if known["status"] == Status.RUNNING else None
    return JobSummary(id=job_id, **known)


def encode_event(event: Event) -> bytes:
    """An event as stored; its id is its place."""
    return event.model_dump_json(exclude={"id"}).encode()


def decode_event(place: int, stored: bytes) -> Event:
    """An event with its id."""
    return Event.model_validate_json(stored).model_copy(update={"id": str(place)})


def require_moves(expect: frozenset[Status], to: Status | None) -> None:
    """Raises `ValueError` unless `to` can be reached from every expected status."""
    if not expect:
        msg = "a change must expect at least one status"
        raise ValueError(msg)
    refused = sorted(status for status in expect if to is not None and not can_move(status, to))
    if refused:
        msg = f"the transition table has no move from {', '.join(refused)} to {to}"
        raise ValueError(msg)


def require_erasable(job: JobRecord) -> None:
    """Raises `ValueError` for a job of which something can still become."""
    if not may_be_erased(job.status, job.error.code if job.error else None):
        msg = f"a {job.status} job cannot be erased"
        raise ValueError(msg)
