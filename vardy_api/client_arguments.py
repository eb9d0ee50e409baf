"""What may be given to the client's methods, and how it becomes what is sent."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import contextmanager, suppress
from datetime import datetime
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from pydantic import ValidationError

from vardy_api.client_errors import refusal, unfit
from vardy_worker.contracts.base import make_pointer
from vardy_worker.contracts.envelope import Envelope
from vardy_worker.contracts.job import JobKind
from vardy_worker.contracts.quota import KeyQuota
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import User
from vardy_worker.contracts.view import JobView

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

E = TypeVar("E", bound=StrEnum)
T = TypeVar("T")

Person: TypeAlias = User | str | dict[str, Any] | None
"""A user as contract, mapping or bare id; None where the key is bound to a person."""
Statuses: TypeAlias = "Sequence[Status | str] | Status | str | None"
"""One status or several."""


class Unchanged(Enum):
    """Stands for an argument that was not given, where None means to remove something."""

    UNCHANGED = "unchanged"


UNCHANGED: Final = Unchanged.UNCHANGED


@contextmanager
def checked(*outer: str) -> Iterator[None]:
    """Turns what does not fit a shape into `InvalidArguments` `request.invalid`, as the service words it.

    `outer` is where in the request the shape stands.
    """
    try:
        yield
    except ValidationError as error:
        problems = [
            {"at": make_pointer([*outer, *found["loc"]]), "message": found["msg"].removeprefix("Value error, ")}
            for found in error.errors(include_url=False, include_context=False, include_input=False)
        ]
        raise unfit(*problems) from error


def named(kind: type[E], name: E | str, at: str) -> E:
    """The member of that name. Raises `InvalidArguments`."""
    if isinstance(name, str):
        try:
            return kind(name)
        except ValueError:
            pass
    shown = f"there is no {name}" if isinstance(name, str) else "this is none"
    raise unfit({"at": make_pointer([at]), "message": f"{shown}; there are {', '.join(kind)}"})


def as_user(user: Person, at: str = "user") -> User | None:
    """A user from what is handy: an id, a mapping, or the contract itself."""
    if isinstance(user, User) or user is None:
        return user
    with checked(at):
        return User(id=user) if isinstance(user, str) else User.model_validate(user)


def as_envelope(envelope: Envelope | Mapping[str, Any] | None) -> Envelope | None:
    """An envelope from a mapping, or the contract itself."""
    if envelope is None or isinstance(envelope, Envelope):
        return envelope
    with checked("envelope"):
        return Envelope.model_validate(envelope)


def as_quota(quota: KeyQuota | Mapping[str, float | None]) -> KeyQuota:
    """Ceilings from a mapping, or the contract itself."""
    if isinstance(quota, KeyQuota):
        return quota
    with checked("quota"):
        return KeyQuota.model_validate(quota)


def as_tuple(names: Sequence[T], at: str) -> tuple[T, ...]:
    """Names as they are sent. Raises `InvalidArguments` for one text, which is a sequence of its letters."""
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
        raise unfit({"at": f"/{at}", "message": "give a list of names"})
    return tuple(names)


def as_names(functions: Sequence[str] | None) -> tuple[str, ...] | None:
    """The functions that are meant; None where nothing was said."""
    return None if functions is None else as_tuple(functions, "functions")


def as_time(time: datetime | None, at: str) -> str | None:
    """A time as it is asked by. Raises `InvalidArguments` for what is no `datetime`."""
    if time is None or isinstance(time, datetime):
        return None if time is None else time.isoformat()
    raise unfit({"at": f"/{at}", "message": "give a datetime"})


def as_seconds(seconds: float | None, at: str) -> float:
    """How long something may take; infinite where nothing was said. Raises `InvalidArguments` for what is no number."""
    if seconds is None:
        return math.inf
    if isinstance(seconds, int | float) and not isinstance(seconds, bool):
        with suppress(OverflowError):
            if not math.isnan(given := float(seconds)):
                return given
    raise unfit({"at": f"/{at}", "message": "give a number of seconds, or None"})


def as_statuses(status: Statuses) -> tuple[Status, ...]:
    """The statuses that are meant."""
    each = (status,) if isinstance(status, str) else as_tuple(() if status is None else status, "status")
    return tuple(named(Status, name, "status") for name in each)


def job_id_of(job: JobView | str, at: str = "job") -> str:
    """The id of a job that is given as itself or by its id. Raises `InvalidArguments`."""
    job_id = job if isinstance(job, str) else getattr(job, "id", None)
    if isinstance(job_id, str):
        return job_id
    raise unfit({"at": f"/{at}", "message": "give a job, or its id"})


def job_filters(
    status: Statuses,
    kind: JobKind | str | None,
    user: str | None,
    recipe: str | None,
    created_after: datetime | None,
) -> dict[str, object]:
    """The query of a listing."""
    return {
        "status": ",".join(as_statuses(status)) or None,
        "kind": None if kind is None else named(JobKind, kind, "kind"),
        "user": user,
        "recipe": recipe,
        "created_after": as_time(created_after, "created_after"),
    }


def shown_plan(job: JobView | str, digest: str | None) -> tuple[str, str]:
    """The job's id and the digest of the plan that was looked at.

    Raises `NotFound` `plan.none` for a job without one, `InvalidArguments` `digest.missing`
    for a job that is given by its id alone.
    """
    if digest is not None:
        return job_id_of(job), digest
    if isinstance(job, str):
        message = f"Give the job as it was shown, or the digest of its plan: {job} alone does not say which plan."
        raise refusal("digest.missing", message)
    if not isinstance(job, JobView):
        raise unfit({"at": "/job", "message": "give the job as it was shown, or the digest of its plan"})
    if job.plan is None:
        message = f"{job.id} is {job.status.value} and has no plan, so there is nothing to decide or commit."
        raise refusal("plan.none", message, {"status": job.status.value})
    return job.id, job.plan.digest
