"""Exceptions of the client mirror the problems of the service, and give nothing away."""

from __future__ import annotations

import copy
import pickle
import traceback
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.support.clients import Kind, Script, client_of
from tests.support.factories import ANA, LEA
from vardy_api import client_errors
from vardy_api.client_errors import (
    ClientError,
    Conflict,
    Forbidden,
    Invalid,
    InvalidArguments,
    NotFound,
    PlanChanged,
    RateLimited,
    ServiceFailed,
    Unauthorized,
    Unreachable,
    VardyProblem,
    WaitTimeout,
    problem_error,
)
from vardy_api.shapes import Problem
from vardy_worker.contracts.errors import PROBLEMS
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.api import ApiWorld
    from vardy_api.client import Vardy

KINDS = {
    400: Invalid,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: Invalid,
    409: Conflict,
    410: NotFound,
    412: PlanChanged,
    413: Invalid,
    422: Invalid,
    428: Invalid,
    429: RateLimited,
}
MARK = "SECRET-ROW-4711"


@pytest.fixture(params=list(Kind))
def vardy(api: ApiWorld, request: pytest.FixtureRequest) -> Vardy:
    return client_of(api, Kind(request.param))


@pytest.mark.parametrize("code", PROBLEMS)
def test_every_problem_of_the_service_has_its_exception(code: str) -> None:
    status, title = PROBLEMS[code]
    body = {"type": f"/problems/{code}", "title": title, "status": status, "detail": "No.", "code": code}
    script = Script(httpx.Response(status, json=body))
    with pytest.raises(VardyProblem) as raised:
        script.client(Kind.BLOCKING).get("job_1")
    expected = ServiceFailed if status >= 500 else KINDS.get(status, Invalid)
    assert type(raised.value) is expected
    assert (raised.value.code, raised.value.status, raised.value.title) == (code, status, title)
    assert str(raised.value) == raised.value.message == "No."


def test_the_drawing_of_the_exceptions_names_all_of_them() -> None:
    kinds = {
        name for name, kind in vars(client_errors).items() if isinstance(kind, type) and issubclass(kind, ClientError)
    }
    assert [name for name in kinds if name not in (client_errors.__doc__ or "")] == []


# --- arguments that no request can have -------------------------------------------------------------------------


def field(place: str) -> Callable[[InvalidArguments], bool]:
    return lambda error: any(problem["at"] == place for problem in error.problems)


@pytest.mark.parametrize(
    ("call", "place"),
    [
        (lambda vardy: vardy.run(), ""),
        (lambda vardy: vardy.run("a", recipe="b", user=ANA), ""),
        (lambda vardy: vardy.run("", user=ANA), "/request"),
        (lambda vardy: vardy.run("a", user=""), "/user/id"),
        (lambda vardy: vardy.run("a", user={"id": "ana", "role": MARK}), "/user/role"),
        (lambda vardy: vardy.run("a", user=ANA, mode="dry"), "/mode"),
        (lambda vardy: vardy.run("a", user=ANA, metadata={"a": 3}), "/metadata/a"),
        (lambda vardy: vardy.explore("  ", user=ANA), ""),
        (lambda vardy: vardy.explore("a", user=ANA, rounds_max=0), "/rounds_max"),
        (lambda vardy: vardy.list_jobs(status="DONE"), "/status"),
        (lambda vardy: list(vardy.iterate_jobs(kind="walk")), "/kind"),
        (lambda vardy: vardy.create_key([]), "/scopes"),
        (lambda vardy: vardy.create_key(["all"]), "/scopes"),
        (lambda vardy: vardy.create_key(["read"], person={"id": ""}), "/person/id"),
        (lambda vardy: vardy.create_key(["read"], quota={"jobs": 3}), "/quota/jobs"),
        (lambda vardy: vardy.change_key("key_1", quota={"jobs_max": -1}), "/quota/jobs_max"),
        (lambda vardy: vardy.rotate_key("key_1", keep_seconds=-1), "/keep_seconds"),
        (lambda vardy: vardy.save_recipe("a", source="b", envelope={"x": 1}), "/envelope/x"),
        (lambda vardy: vardy.discard("job_1", reason="a" * 2001), "/reason"),
        (lambda vardy: vardy.audit(action="dance"), "/action"),
        (lambda vardy: vardy.test_rules("a", limit=0), "/limit"),
    ],
)
def test_arguments_that_no_request_can_have_are_refused_before_anything_is_sent(
    api: ApiWorld, vardy: Vardy, call: Callable[[Vardy], Any], place: str
) -> None:
    with pytest.raises(InvalidArguments) as raised:
        call(vardy)
    error = raised.value
    assert (error.code, error.status, error.title) == ("request.invalid", *PROBLEMS["request.invalid"])
    assert place in {problem["at"] for problem in error.problems}, error.problems
    assert error.problems[0]["message"] in error.message
    assert MARK not in "".join(traceback.format_exception(error))
    assert api.transport.requests == []


def test_client_and_service_say_the_same_of_the_same_mistake(api: ApiWorld, vardy: Vardy) -> None:
    with pytest.raises(InvalidArguments) as raised:
        vardy.explore("a", user=ANA, rounds_max=0)
    with api.http() as http:
        answer = http.post("/v1/explore", json={"question": "a", "user": {"id": "ana"}, "rounds_max": 0}).json()
    assert (raised.value.code, raised.value.message, raised.value.details) == (
        answer["code"],
        answer["detail"],
        answer["details"],
    )


def test_a_decision_about_no_plan_in_particular_is_refused_as_the_service_would(api: ApiWorld, vardy: Vardy) -> None:
    job = api.job(Status.PENDING_APPROVAL)
    for call in (vardy.approve, vardy.commit_planned, lambda job, user: vardy.deny(job, user=user, reason="No.")):
        with pytest.raises(InvalidArguments) as raised:
            call(job.id, user=LEA)
        assert (raised.value.code, raised.value.status) == ("digest.missing", 428)
    answered = vardy.get(api.explore(Status.SUCCESS).id)
    with pytest.raises(NotFound) as none:
        vardy.commit(answered, user=LEA)
    assert none.value.code == "plan.none"


# --- what they hold -----------------------------------------------------------------------------------------------


def examples(api: ApiWorld) -> list[ClientError]:
    body = Problem(
        type="/problems/rate.limited", title="Too many requests", status=429, detail="Wait.", code="rate.limited",
        details={"of": "key"}, instance="urn:vardy:err_1",
    )  # fmt: skip
    with api.vardy() as inside:
        job = inside.get(api.job(Status.RUNNING).id)
    return [
        problem_error(body, retry_after_seconds=3),
        Unreachable("Gone.", details={"tries": 5}),
        WaitTimeout(job, 3),
        ClientError("No address.", code="client.bad_url"),
    ]


def test_exceptions_travel_between_processes_whole(api: ApiWorld) -> None:
    for error in examples(api):
        for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301 - of this test's own
            assert type(twin) is type(error)
            assert (str(twin), twin.args, vars(twin)) == (str(error), error.args, vars(error))


def test_no_exception_holds_the_key_or_what_was_sent(api: ApiWorld) -> None:
    key = api.token()
    for answer in (
        httpx.ConnectError("refused"),
        httpx.Response(500, content=b"{}"),
        httpx.Response(200, content=b"x"),
    ):
        with pytest.raises(ClientError) as raised:
            Script(answer).client(Kind.BLOCKING).run(MARK, user=MARK, params={"row": MARK})
        shown = repr(raised.value) + str(vars(raised.value)) + "".join(traceback.format_exception(raised.value))
        dumped = pickle.dumps(raised.value)
        for secret in (key, "vk_k", MARK):
            assert secret not in shown
            assert secret.encode() not in dumped
