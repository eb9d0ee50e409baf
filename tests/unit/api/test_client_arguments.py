"""Whatever a program gives to a method of the client, it is a request or an exception of the client."""

from __future__ import annotations

import inspect
import json
import math
from datetime import UTC, date, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import httpx
import pytest

from tests.support.clients import Kind, Script, client_of
from tests.support.factories import ANA, LEA
from vardy_api.client import Vardy
from vardy_api.client_asyncio import AsyncVardy
from vardy_api.client_errors import ClientError, InvalidArguments
from vardy_api.client_flows import Decision
from vardy_api.client_methods import ClientFlows
from vardy_worker.contracts.base import pointer_parts
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.api import ApiWorld

METHODS = [name for name, _ in inspect.getmembers(ClientFlows, inspect.isfunction) if not name.startswith("_")]
GIVEN: dict[str, Any] = {
    "request": "how much?",
    "question": "how much?",
    "source": "async function run() {}",
    "text": "rules: []",
    "job": "job_1",
    "digest": "a" * 64,
    "reason": "No.",
    "seq": 0,
    "done": True,
    "name": "reminder",
    "before": 1,
    "key_id": "key_1",
    "scopes": ["read"],
    "quota": {},
    "user": "ana",
}
"""What fits the parameters that a method needs, or is of no use without."""


class Odd:
    """An object of the program's own."""

    def __str__(self) -> str:
        msg = "nobody asks for this"
        raise AssertionError(msg)

    __repr__ = __str__


def circle() -> dict[str, Any]:
    made: dict[str, Any] = {}
    made["again"] = made
    return made


def depths() -> dict[str, Any]:
    made: dict[str, Any] = {}
    for _ in range(3000):
        made = {"in": made}
    return made


def hostile() -> list[Any]:
    """Values of every type, for every parameter."""
    texts = ["", " ", ".", "..", "/", "a/b", "\ud800", "\u00e9", "a\nb", 'a"b', "a" * 70_000, b"bytes"]
    numbers = [0, -1, 1.5, True, math.nan, math.inf, 10**400]
    many = [[], ["a"], [1], [None], ["\ud800"], (), set(), {}, {"a": 1}, {1: 2}, {"a": math.nan}, {"a": "\ud800"}]
    times = [datetime.now(UTC), date(2026, 1, 1)]
    others = [None, Odd(), Odd, {"a": Odd()}, circle(), depths(), Decision(approve=True), *times]
    return [*texts, *numbers, *many, *others]


@cache
def settled_body() -> bytes:
    short: dict[str, Any] = {"id": "job_1", "kind": "run", "status": "SUCCESS", "settled": True, "mode": "execute"}
    rest = {"user": {"id": "ana"}, "created_at": "2026-01-31T12:00:00Z", "version": 4, "usage": {}, "timings_ms": {}}
    return json.dumps(short | rest).encode()


def call(vardy: Vardy, name: str, arguments: dict[str, Any]) -> Any:
    result = getattr(vardy, name)(**arguments)
    return list(result) if inspect.isgenerator(result) else result


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("kind", Kind)
def test_whatever_is_given_is_sent_or_refused_by_an_exception_of_the_client(kind: Kind, name: str) -> None:
    script = Script(httpx.Response(200, content=settled_body()))
    vardy = script.client(kind)
    parameters = [parameter for parameter in inspect.signature(getattr(Vardy, name)).parameters if parameter != "self"]
    wanted = {parameter: GIVEN[parameter] for parameter in parameters if parameter in GIVEN}
    if name == "check_program":
        del wanted["text"]
    for parameter in parameters:
        for value in hostile():
            script.requests.clear()
            arguments = wanted | {parameter: value}
            if (name, parameter) == ("run", "recipe"):
                del arguments["request"]
            refused = None
            try:
                call(vardy, name, arguments)
            except ClientError as error:
                refused = error
            if isinstance(refused, InvalidArguments):
                assert script.requests == [], (parameter, refused)
                assert all(pointer_parts(problem["at"]) is not None for problem in refused.problems)
            for request in script.requests:
                assert request.url.raw_path.startswith(b"/v1/") or name == "health"
                assert not request.content or json.loads(request.content) == json.loads(
                    request.content, parse_constant=pytest.fail
                )


@pytest.mark.parametrize(
    ("act", "place"),
    [
        (lambda vardy: vardy.run("a", user=ANA, functions="refund"), "/functions"),
        (lambda vardy: vardy.run("a", user=ANA, params={"days": math.nan}), ""),
        (lambda vardy: vardy.run("a", user=ANA, idempotency_key=""), "/idempotency_key"),
        (lambda vardy: vardy.run("a", user=ANA, idempotency_key="a\nb"), "/idempotency_key"),
        (lambda vardy: vardy.run("a", user=ANA, timeout_seconds="5"), "/timeout_seconds"),
        (lambda vardy: vardy.approve("job_1", digest="a", user=LEA, timeout_seconds=math.nan), "/timeout_seconds"),
        (lambda vardy: vardy.commit(None, user=LEA), "/job"),
        (lambda vardy: vardy.save_recipe("a", from_job=3), "/from_job"),
        (lambda vardy: vardy.get(""), "/id"),
        (lambda vardy: vardy.get(17), "/job"),
        (lambda vardy: vardy.erase_totals({"id": "ana"}), "/id"),
        (lambda vardy: vardy.usage(user={"id": "ana"}), "/user"),
        (lambda vardy: list(vardy.iterate_jobs(user={"id": "ana"})), "/user"),
        (lambda vardy: vardy.list_jobs(created_after="2026-01-01"), "/created_after"),
        (lambda vardy: vardy.list_jobs(limit=True), "/limit"),
        (lambda vardy: vardy.create_key("read"), "/scopes"),
        (lambda vardy: list(vardy.events("job_1", after=3)), "/after"),
    ],
)
@pytest.mark.parametrize("kind", Kind)
def test_what_would_be_taken_for_something_else_is_refused(
    api: ApiWorld, kind: Kind, act: Callable[[Vardy], Any], place: str
) -> None:
    with pytest.raises(InvalidArguments) as raised:
        act(client_of(api, kind))
    assert [problem["at"] for problem in raised.value.problems] == [place]
    assert api.transport.requests == []


@pytest.mark.parametrize("dots", [".", ".."])
def test_dots_are_a_name_and_no_way_to_another_address(dots: str) -> None:
    script = Script(httpx.Response(200, content=settled_body()))
    for act in (Vardy.get, Vardy.erase, Vardy.cancel, Vardy.wait):
        act(script.client(Kind.BLOCKING), dots)
    segment = dots.replace(".", "%2E").encode()
    assert {request.url.raw_path.split(b"?")[0].split(b"/")[3] for request in script.requests} == {segment}


@pytest.mark.parametrize(
    "answer", [Decision(cast("Any", "deny")), Decision(cast("Any", 1)), True, "yes", {"approve": True}], ids=str
)
@pytest.mark.parametrize("kind", Kind)
def test_an_answer_about_a_plan_that_is_no_plain_yes_or_no_decides_nothing(
    api: ApiWorld, kind: Kind, answer: Any
) -> None:
    job = api.job(Status.PENDING_APPROVAL)
    with pytest.raises(InvalidArguments, match="True or False"):
        client_of(api, kind, on_approval=lambda _: answer).wait(job.id)
    assert client_of(api, kind).get(job.id).status is Status.PENDING_APPROVAL


def test_a_coroutine_that_nobody_awaits_decides_nothing(api: ApiWorld) -> None:
    async def on_approval(_: object) -> Decision:
        return Decision(approve=True, user=LEA)

    job = api.job(Status.PENDING_APPROVAL)
    with pytest.raises(InvalidArguments, match="AsyncVardy"):
        client_of(api, Kind.BLOCKING, on_approval=on_approval).wait(job.id)


@pytest.mark.parametrize("kind", Kind)
def test_what_a_program_raises_when_it_is_asked_comes_out_and_decides_nothing(api: ApiWorld, kind: Kind) -> None:
    def on_approval(_: object) -> Decision:
        raise LookupError

    job = api.job(Status.PENDING_APPROVAL)
    with pytest.raises(LookupError):
        client_of(api, kind, on_approval=on_approval).wait(job.id)
    assert client_of(api, kind).get(job.id).status is Status.PENDING_APPROVAL


@pytest.mark.parametrize("kind", Kind)
def test_a_page_of_something_between_is_not_taken_for_a_deletion(kind: Kind) -> None:
    acts: tuple[Callable[[Vardy], None], ...] = (
        lambda vardy: vardy.delete_recipe("a"),
        lambda vardy: vardy.erase_totals("ana"),
    )
    for act in acts:
        script = Script(httpx.Response(200, html="<html>Sign in</html>"))
        with pytest.raises(ClientError) as raised:
            act(script.client(kind))
        assert raised.value.code == "client.bad_answer"


@pytest.mark.parametrize("client", [Vardy, AsyncVardy])
@pytest.mark.parametrize(
    "url",
    [
        *("vardy", "vardy:8000", "http://", "http:vardy", "ftp://vardy", "unix:/run/vardy.sock", " http://vardy", "  "),
        *("http://vardy:port", "http://vardy:99999", "http://[::1", "http://vardy\n", "http://ana:secret@vardy:port"),
        *("http://vardy/?a=1", "http://vardy/#a", 5, b"http://vardy"),
    ],
)
def test_an_address_that_will_never_work_is_refused_at_once(client: Any, url: Any) -> None:
    with pytest.raises(ClientError) as raised:
        client(url)
    assert raised.value.code == "client.bad_url"
    assert "secret" not in raised.value.message


@pytest.mark.parametrize("client", [Vardy, AsyncVardy])
@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("ALL_PROXY", "socks4://proxy:secret@vardy", "client.bad_url"),
        ("ALL_PROXY", "http://proxy:port", "client.bad_url"),
        ("SSL_CERT_FILE", "/nowhere/certificates.pem", "client.tls"),
    ],
)
def test_an_environment_that_no_connection_can_use_is_said_to_be_so(
    monkeypatch: pytest.MonkeyPatch, client: Any, name: str, value: str, code: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ClientError) as raised:
        client("https://vardy")
    assert raised.value.code == code
    assert "secret" not in raised.value.message
