"""Every call of the HTTP API as a value: how its request is built and its answer read.

Pure: no network, no clock. Drivers (blocking or asynchronous) only carry calls out, so
that nothing about the API is written twice.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, TypeVar
from urllib.parse import quote, urlsplit

from pydantic import BaseModel, ValidationError
from pydantic_core import to_jsonable_python

from vardy_api.client_errors import ClientError, unfit
from vardy_api.recipe_shapes import RecipeDifference, RecipeList, RecipeView
from vardy_api.rule_shapes import RulesTestPage
from vardy_api.shapes import (
    AttemptsView,
    CheckedProgram,
    ConsoleView,
    EventView,
    ExploreRequest,
    HealthView,
    JournalView,
    KeyChange,
    KeyCreate,
    KeyList,
    KeyRotate,
    KeyView,
    NewKeyView,
    Problem,
    ProgramCheck,
    PromptRequest,
    PromptView,
    QueuesView,
    RulesPut,
    RulesView,
    SummaryPage,
    TrailCheckPage,
    UsageView,
)
from vardy_worker.contracts.audit import AuditPage
from vardy_worker.contracts.functions import Catalogue
from vardy_worker.contracts.plan import Plan
from vardy_worker.contracts.view import JobView

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from vardy_api.recipe_shapes import RecipeReview, RecipeSave
    from vardy_api.rule_shapes import RulesTest
    from vardy_api.shapes import DecisionRequest, PersonRequest, ReasonRequest, ResolveRequest, RunRequest

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
M = TypeVar("M", bound=BaseModel)

JSON_LINES = "application/jsonl"
PAGE_MAX = 200
"""The most items that the service puts on one page."""
NAME_CHARACTERS_MAX = 4096
"""No id, name or cursor is as long; no service would take an address that holds one."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer as it came. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True, slots=True)
class Call(Generic[T_co]):
    """One request, and how to read its answer.

    `repeatable`: sending it twice does no harm, so it may be sent again when the answer
    was lost. `wait_seconds` is how long the service may hold the answer back. `accepts`
    are error statuses that are an answer here, not a problem.
    """

    method: str
    path: str
    parse: Callable[[Reply], T_co]
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None
    repeatable: bool = True
    wait_seconds: float = 0
    accepts: frozenset[int] = frozenset()


def read_as(model: type[M]) -> Callable[[Reply], M]:
    """Reads a body; fields that a newer service added are left out."""

    def parse(reply: Reply) -> M:
        _refuse_redirect(reply)
        try:
            return model.model_validate_json(reply.content, extra="ignore")
        except ValidationError as error:
            msg = f"The answer is not a {model.__name__}; is this address a Vardy API of this version?"
            raise ClientError(msg, code="client.bad_answer") from error

    return parse


def _nothing(reply: Reply) -> None:
    _refuse_redirect(reply)
    if reply.status != 204:  # noqa: PLR2004 - HTTP's No Content
        # A page of whatever stands between says nothing about what was to be done.
        msg = "The answer is not one of Vardy; is this address a Vardy API of this version?"
        raise ClientError(msg, code="client.bad_answer")


def _refuse_redirect(reply: Reply) -> None:
    """Raises for a redirect. None is followed: the key would go to whoever it names."""
    if 300 <= reply.status < 400:  # noqa: PLR2004 - HTTP's redirects
        place = urlsplit(reply.headers.get("location", ""))
        where = f" to {place.scheme}://{place.hostname}" if place.scheme and place.hostname else ""
        msg = f"The address answers with a redirect{where}, and none is followed; give the address of the API itself."
        raise ClientError(msg, code="client.redirect")


def read_problem(reply: Reply) -> Problem:
    """The problem of an answer that is an error, also when something between answered it."""
    try:
        told = Problem.model_validate_json(reply.content, extra="ignore")
        return told.model_copy(update={"status": reply.status})
    except ValidationError:
        return Problem(
            type="about:blank",
            title="Not an answer of Vardy",
            status=reply.status,
            detail=f"The address answered {reply.status} without a problem document; is it a Vardy API?",
            code=f"http.{reply.status}",
        )


def _written(value: object, at: str) -> str:
    """An id, a name or a number for an address. Raises `InvalidArguments` for what is none."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise unfit({"at": at, "message": "give an id or a name, as a text"})
    text = str(value)
    if len(text) > NAME_CHARACTERS_MAX or any("\ud800" <= character <= "\udfff" for character in text):
        raise unfit({"at": at, "message": "this is too long, or no text of Unicode"})
    return text


def _segment(part: str | int) -> str:
    text = _written(part, "/id")
    if not text:
        raise unfit({"at": "/id", "message": "an id or a name is empty"})
    # Clients and proxies take one or two dots by themselves for another address.
    return quote(text, safe="") if text.strip(".") or len(text) > 2 else text.replace(".", "%2E")  # noqa: PLR2004 - `.` and `..`


def _path(*parts: str | int) -> str:
    return "/v1/" + "/".join(map(_segment, parts))


def _body(model: BaseModel) -> bytes:
    try:
        given = model.model_dump(exclude_unset=True, by_alias=True)
        # Not pydantic's own way, which sends null for what is no number.
        return json.dumps(given, default=to_jsonable_python, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError) as error:
        message = "it holds what JSON cannot: a number that is none, half a character, or an object of Python"
        raise unfit({"at": "", "message": message}) from error


def _query(**values: object) -> dict[str, str]:
    return {name: _written(value, f"/{name}") for name, value in values.items() if value is not None}


def _header(value: str, at: str) -> str:
    """A value that a header can carry. Raises `InvalidArguments` for what is none."""
    if value and isinstance(value, str) and value.isascii() and value.isprintable() and " " not in value:
        return value
    raise unfit({"at": f"/{at}", "message": "give a text of visible ASCII characters"})


# --- jobs ------------------------------------------------------------------------------------


def submit(request: RunRequest | ExploreRequest, *, idempotency_key: str) -> Call[JobView]:
    """`POST /v1/run` or `POST /v1/explore`. The key makes it safe to send again."""
    return Call(
        "POST",
        _path("explore" if isinstance(request, ExploreRequest) else "run"),
        read_as(JobView),
        headers={"Idempotency-Key": _header(idempotency_key, "idempotency_key")},
        content=_body(request),
    )


def preferring_wait(call: Call[T], seconds: float) -> Call[T]:
    """The same call, whose answer is held back until the job settles, for so long at the most."""
    if not seconds:
        return call
    return replace(call, headers={**call.headers, "Prefer": f"wait={seconds:g}"}, wait_seconds=seconds)


def read_job(job_id: str, *, wait_seconds: float = 0) -> Call[JobView]:
    """`GET /v1/jobs/{id}`, waiting for it to settle."""
    query = _query(wait=f"{wait_seconds:g}") if wait_seconds else {}
    return Call("GET", _path("jobs", job_id), read_as(JobView), query=query, wait_seconds=wait_seconds)


def list_jobs(filters: Mapping[str, object], *, cursor: str | None, limit: int | None = PAGE_MAX) -> Call[SummaryPage]:
    """`GET /v1/jobs`."""
    query = _query(**filters, cursor=cursor, limit=limit)
    return Call("GET", "/v1/jobs", read_as(SummaryPage), query=query)


def _read_plan(reply: Reply) -> Plan:
    _refuse_redirect(reply)
    digest = reply.headers.get("etag", "").strip('"')
    if hashlib.sha256(reply.content).hexdigest() != digest:
        raise ClientError("The plan's bytes do not match its digest.", code="client.bad_answer")
    return Plan(digest=digest, text=reply.content.decode())


def read_plan(job_id: str) -> Call[Plan]:
    """`GET /v1/jobs/{id}/plan`: the exact bytes, checked against the digest."""
    return Call("GET", _path("jobs", job_id, "plan"), _read_plan)


def read_console(job_id: str) -> Call[ConsoleView]:
    """`GET /v1/jobs/{id}/console`."""
    return Call("GET", _path("jobs", job_id, "console"), read_as(ConsoleView))


def read_journal(job_id: str) -> Call[JournalView]:
    """`GET /v1/jobs/{id}/journal`."""
    return Call("GET", _path("jobs", job_id, "journal"), read_as(JournalView))


def read_attempts(job_id: str) -> Call[AttemptsView]:
    """`GET /v1/jobs/{id}/attempts`."""
    return Call("GET", _path("jobs", job_id, "attempts"), read_as(AttemptsView))


def read_events(job_id: str, *, after: str, follow: bool) -> Call[None]:
    """`GET /v1/jobs/{id}/events`: those after the id `after`, as a stream; `204` when there is no more to tell."""
    headers = {"Accept": "text/event-stream, application/problem+json"}
    if after != "":
        headers["Last-Event-ID"] = _header(after, "after")
    query = _query(follow="true") if follow else {}
    return Call("GET", _path("jobs", job_id, "events"), _refuse_redirect, query=query, headers=headers)


def read_event(data: str) -> EventView:
    """The event of a message."""
    return read_as(EventView)(Reply(200, {}, data.encode()))


def decide(job_id: str, digest: str, request: DecisionRequest) -> Call[JobView]:
    """`POST /v1/jobs/{id}/decisions`. A repetition by the same person changes nothing."""
    return Call(
        "POST",
        _path("jobs", job_id, "decisions"),
        read_as(JobView),
        headers={"If-Match": f'"{_header(digest, "digest")}"'},
        content=_body(request),
        repeatable=False,
    )


def commit_planned(job_id: str, digest: str, request: PersonRequest) -> Call[JobView]:
    """`POST /v1/jobs/{id}/commit`."""
    return Call(
        "POST",
        _path("jobs", job_id, "commit"),
        read_as(JobView),
        headers={"If-Match": f'"{_header(digest, "digest")}"'},
        content=_body(request),
        repeatable=False,
    )


def act(job_id: str, verb: str, request: PersonRequest | ReasonRequest) -> Call[JobView]:
    """`POST /v1/jobs/{id}/cancel`, `/requeue` or `/discard`."""
    return Call("POST", _path("jobs", job_id, verb), read_as(JobView), content=_body(request), repeatable=False)


def try_requeue(job_id: str, request: PersonRequest) -> Call[JobView]:
    """`POST /v1/jobs/{id}/requeue?dry_run=true`. It changes nothing."""
    query = {"dry_run": "true"}
    return Call("POST", _path("jobs", job_id, "requeue"), read_as(JobView), query=query, content=_body(request))


def erase(job_id: str, *, dry_run: bool) -> Call[JobView]:
    """`DELETE /v1/jobs/{id}`. Erasing twice is the same."""
    query = _query(dry_run="true") if dry_run else {}
    return Call("DELETE", _path("jobs", job_id), read_as(JobView), query=query)


def erase_totals(user: str) -> Call[None]:
    """`DELETE /v1/users/{id}/totals`. Erasing twice is the same."""
    return Call("DELETE", _path("users", user, "totals"), _nothing)


def resolve(job_id: str, seq: int, request: ResolveRequest) -> Call[JobView]:
    """`POST /v1/jobs/{id}/effects/{seq}/resolve`."""
    return Call(
        "POST",
        _path("jobs", job_id, "effects", seq, "resolve"),
        read_as(JobView),
        content=_body(request),
        repeatable=False,
    )


# --- programs, recipes, rules, functions, prompts --------------------------------------------------


def list_recipes(*, cursor: str | None) -> Call[RecipeList]:
    """`GET /v1/recipes`."""
    return Call("GET", "/v1/recipes", read_as(RecipeList), query=_query(cursor=cursor, limit=PAGE_MAX))


def read_recipe(name: str, *, version: int | None = None) -> Call[RecipeView]:
    """`GET /v1/recipes/{name}`, or `GET /v1/recipes/{name}/versions/{n}`."""
    place = _path("recipes", name) if version is None else _path("recipes", name, "versions", version)
    return Call("GET", place, read_as(RecipeView))


def recipe_versions(name: str, *, cursor: str | None) -> Call[RecipeList]:
    """`GET /v1/recipes/{name}/versions`."""
    query = _query(cursor=cursor, limit=PAGE_MAX)
    return Call("GET", _path("recipes", name, "versions"), read_as(RecipeList), query=query)


def recipe_difference(name: str, before: int, after: int | None) -> Call[RecipeDifference]:
    """`GET /v1/recipes/{name}/difference`; without `after` up to the newest version."""
    query = _query(**{"from": before, "to": after})
    return Call("GET", _path("recipes", name, "difference"), read_as(RecipeDifference), query=query)


def save_recipe(name: str, request: RecipeSave, *, dry_run: bool) -> Call[RecipeView]:
    """`PUT /v1/recipes/{name}`; a dry run only validates."""
    query = _query(dry_run="true") if dry_run else {}
    content = _body(request)
    return Call("PUT", _path("recipes", name), read_as(RecipeView), query=query, content=content, repeatable=dry_run)


def review_recipe(name: str, request: RecipeReview, *, dry_run: bool) -> Call[RecipeView]:
    """`POST /v1/recipes/{name}/review`; a dry run only validates."""
    query = _query(dry_run="true") if dry_run else {}
    content = _body(request)
    return Call(
        "POST", _path("recipes", name, "review"), read_as(RecipeView), query=query, content=content, repeatable=dry_run
    )


def delete_recipe(name: str) -> Call[None]:
    """`DELETE /v1/recipes/{name}`."""
    return Call("DELETE", _path("recipes", name), _nothing, repeatable=False)


def check_program(request: ProgramCheck) -> Call[CheckedProgram]:
    """`POST /v1/programs/check`. It changes nothing."""
    return Call("POST", "/v1/programs/check", read_as(CheckedProgram), content=_body(request))


def read_functions() -> Call[Catalogue]:
    """`GET /v1/functions`."""
    return Call("GET", "/v1/functions", read_as(Catalogue))


def read_rules() -> Call[RulesView]:
    """`GET /v1/rules`."""
    return Call("GET", "/v1/rules", read_as(RulesView))


def put_rules(request: RulesPut, *, dry_run: bool) -> Call[RulesView]:
    """`PUT /v1/rules`. Applying the active rules again changes nothing."""
    query = _query(dry_run="true") if dry_run else {}
    return Call("PUT", "/v1/rules", read_as(RulesView), query=query, content=_body(request))


def try_rules(request: RulesTest) -> Call[RulesTestPage]:
    """`POST /v1/rules/test`. It changes nothing."""
    return Call("POST", "/v1/rules/test", read_as(RulesTestPage), content=_body(request))


def preview_prompt(request: PromptRequest) -> Call[PromptView]:
    """`POST /v1/prompts`."""
    return Call("POST", "/v1/prompts", read_as(PromptView), content=_body(request))


# --- administration -------------------------------------------------------------------------------


def list_keys(*, cursor: str | None) -> Call[KeyList]:
    """`GET /v1/keys`."""
    return Call("GET", "/v1/keys", read_as(KeyList), query=_query(cursor=cursor, limit=PAGE_MAX))


def read_key(key_id: str) -> Call[KeyView]:
    """`GET /v1/keys/{id}`."""
    return Call("GET", _path("keys", key_id), read_as(KeyView))


def change_key(key_id: str, request: KeyChange) -> Call[KeyView]:
    """`PATCH /v1/keys/{id}`. The same change twice is one."""
    return Call("PATCH", _path("keys", key_id), read_as(KeyView), content=_body(request))


def create_key(request: KeyCreate) -> Call[NewKeyView]:
    """`POST /v1/keys`."""
    return Call("POST", "/v1/keys", read_as(NewKeyView), content=_body(request), repeatable=False)


def revoke_key(key_id: str) -> Call[KeyView]:
    """`DELETE /v1/keys/{id}`. Revoking twice is the same."""
    return Call("DELETE", _path("keys", key_id), read_as(KeyView))


def rotate_key(key_id: str, request: KeyRotate) -> Call[NewKeyView]:
    """`POST /v1/keys/{id}/rotate`. A second one would end the secret that the first one made."""
    return Call("POST", _path("keys", key_id, "rotate"), read_as(NewKeyView), content=_body(request), repeatable=False)


def read_usage(user: str | None, key: str | None) -> Call[UsageView]:
    """`GET /v1/usage`."""
    return Call("GET", "/v1/usage", read_as(UsageView), query=_query(user=user, key=key))


def list_audit(filters: Mapping[str, object], *, cursor: str | None, limit: int | None) -> Call[AuditPage]:
    """`GET /v1/audit`."""
    return Call("GET", "/v1/audit", read_as(AuditPage), query=_query(**filters, cursor=cursor, limit=limit))


def verify_audit(chain: str | None, *, cursor: str | None) -> Call[TrailCheckPage]:
    """`GET /v1/audit/verify`."""
    return Call("GET", "/v1/audit/verify", read_as(TrailCheckPage), query=_query(chain=chain, cursor=cursor))


def _read_lines(reply: Reply) -> tuple[bytes, ...]:
    _refuse_redirect(reply)
    if not reply.headers.get("content-type", "").startswith(JSON_LINES):
        raise ClientError("The answer is no lines of JSON; is this address a Vardy API?", code="client.bad_answer")
    return tuple(reply.content.split(b"\n")[:-1])


def place_of(line: bytes) -> str:
    """Where in the trail a line of its export is."""
    try:
        return str(json.loads(line)["place"])
    except (ValueError, KeyError, TypeError) as error:
        raise ClientError("The answer is no export of the audit trail.", code="client.bad_answer") from error


def export_audit(after: str, *, limit: int) -> Call[tuple[bytes, ...]]:
    """`GET /v1/audit/export`: one stretch of it, as lines."""
    query = _query(after=after or None, limit=limit)
    return Call("GET", "/v1/audit/export", _read_lines, query=query)


def read_queues() -> Call[QueuesView]:
    """`GET /v1/queues`."""
    return Call("GET", "/v1/queues", read_as(QueuesView))


def _read_health(reply: Reply) -> HealthView:
    if reply.status == 200:  # noqa: PLR2004 - HTTP's OK
        return read_as(HealthView)(reply)
    try:
        detail = json.loads(reply.content)["detail"]
    except (ValueError, KeyError, TypeError):
        detail = f"the address answered {reply.status}"
    return HealthView(ok=False, problems=(str(detail),))


def read_health() -> Call[HealthView]:
    """`GET /readyz`; not being ready is an answer, not an error."""
    return Call("GET", "/readyz", _read_health, accepts=frozenset({503}))
