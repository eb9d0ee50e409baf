"""`POST /v1/explore`, and the client's `explore`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.support.api import explore_body, run_body
from tests.support.factories import ANA, LEA
from vardy_worker.contracts.errors import ErrorInfo
from vardy_worker.contracts.explore import Round
from vardy_worker.contracts.job import JobKind, Mode
from vardy_worker.contracts.program import Program
from vardy_worker.contracts.status import Stage, Status
from vardy_worker.contracts.user import Scope

if TYPE_CHECKING:
    from tests.support.api import ApiWorld
    from vardy_worker.contracts.job import JobRecord


def stored(api: ApiWorld, job_id: str) -> JobRecord:
    record = api.store.get(job_id)
    assert record is not None
    return record


def test_a_question_is_stored_as_an_explore_and_published_before_202_is_answered(
    api: ApiWorld, http: httpx.Client
) -> None:
    answer = http.post("/v1/explore", json=explore_body(params={"city": "Faro"}, metadata={"ticket": "4711"}))
    job = answer.json()
    assert (answer.status_code, answer.headers["location"]) == (202, f"/v1/jobs/{job['id']}")
    assert answer.headers["retry-after"] == "1"
    assert (job["kind"], job["status"], job["request"]) == ("explore", "QUEUED", "who deserves attention?")
    assert (job["answer"], job["rounds"], job["program"], job["metadata"]) == (None, [], None, {"ticket": "4711"})
    record = stored(api, job["id"])
    assert (record.kind, record.stage) == (JobKind.EXPLORE, Stage.GENERATE)
    assert (record.submission.mode, record.submission.params) == (Mode.EXECUTE, {"city": "Faro"})
    assert api.queue.take("run") == job["id"]


def test_the_rounds_that_a_request_allows_become_a_limit_of_its_job(api: ApiWorld, http: httpx.Client) -> None:
    body = explore_body(rounds_max=2, limits={"calls_max": 5})
    job_id = http.post("/v1/explore", json=body).json()["id"]
    assert stored(api, job_id).submission.limits == {"calls_max": 5, "explore_rounds_max": 2}


@pytest.mark.parametrize(
    ("fields", "at"),
    [
        ({"question": None}, "/question"),
        ({"question": ""}, "/question"),
        ({"question": " \n"}, ""),
        ({"question": "x" * 20_001}, "/question"),
        ({"params": [1]}, "/params"),
        ({"user": None}, "/user"),
        ({"rounds_max": 0}, "/rounds_max"),
        ({"rounds_max": 5}, "/rounds_max"),
        ({"rounds_max": 10**400}, "/rounds_max"),
        ({"limits": {"explore_rounds_max": 2}}, ""),
        ({"limits": {"calls_max": 257}}, "/limits/calls_max"),
        ({"functions": ["list_payments", "list_payment"]}, "/functions/1"),
        ({"functions": ["list_salaries"]}, "/functions/0"),
        ({"functions": ["refund_payment"]}, "/functions/0"),
        ({"judge": "perhaps"}, "/judge"),
        ({"request": "a"}, "/request"),
        ({"recipe": "a"}, "/recipe"),
        ({"mode": "plan"}, "/mode"),
        ({"execution_repairs": 1}, "/execution_repairs"),
    ],
)
def test_a_body_that_does_not_fit_is_refused_with_the_place(
    api: ApiWorld, http: httpx.Client, fields: dict[str, Any], at: str
) -> None:
    answer = http.post("/v1/explore", json={**explore_body(), **fields})
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (422, "request.invalid")
    assert problem["details"]["problems"][0]["at"] == at
    assert api.queue.depth("run") == 0


def test_a_function_that_writes_is_refused_with_the_reason(http: httpx.Client) -> None:
    problem = http.post("/v1/explore", json=explore_body(functions=["refund_payment"])).json()
    assert problem["detail"].startswith("The function refund_payment writes, and an explore only reads")
    assert problem["details"]["problems"][0]["functions"] == ["list_payments"]
    unknown = http.post("/v1/explore", json=explore_body(functions=["refund_payments"])).json()
    assert "Did you mean refund_payment?" not in unknown["detail"]


def test_asking_needs_the_scope_to_submit_and_a_bound_key_asks_as_its_person(api: ApiWorld) -> None:
    assert api.http(api.token(Scope.READ)).post("/v1/explore", json=explore_body()).json()["code"] == "auth.scope"
    bound = api.http(api.token(Scope.SUBMIT, person=ANA))
    assert bound.post("/v1/explore", json={"question": "a"}).json()["user"] == ANA.model_dump(mode="json")
    assert bound.post("/v1/explore", json=explore_body(user=LEA.model_dump())).json()["code"] == "auth.person"


def test_a_key_gives_the_same_explore_again_and_is_refused_for_a_run(api: ApiWorld, http: httpx.Client) -> None:
    headers = {"Idempotency-Key": "k1"}
    first = http.post("/v1/explore", json=explore_body(), headers=headers)
    second = http.post("/v1/explore", json=explore_body(), headers=headers)
    assert second.json()["id"] == first.json()["id"]
    assert second.headers["idempotent-replayed"] == "true"
    assert api.queue.depth("run") == 1
    run = http.post("/v1/run", json=run_body(request=explore_body()["question"]), headers=headers)
    assert (run.status_code, run.json()["code"]) == (422, "idempotency.mismatch")


def test_the_audit_trail_says_that_it_was_an_explore(http: httpx.Client) -> None:
    job_id = http.post("/v1/explore", json=explore_body()).json()["id"]
    (entry,) = http.get("/v1/audit", params={"job": job_id}).json()["items"]
    assert (entry["action"], entry["details"]["kind"]) == ("job.submitted", "explore")


def test_a_listing_can_be_narrowed_to_explores(http: httpx.Client) -> None:
    http.post("/v1/run", json=run_body())
    job_id = http.post("/v1/explore", json=explore_body()).json()["id"]
    listed = http.get("/v1/jobs", params={"kind": "explore"}).json()["items"]
    assert [(line["id"], line["kind"], line["request"]) for line in listed] == [
        (job_id, "explore", "who deserves attention?")
    ]


def test_the_client_asks_and_returns_the_answer_with_its_rounds(api: ApiWorld) -> None:
    program = Program(source="async function run() { return 3; }", sha256="0" * 64)
    rounds = (
        Round(n=1, program=program, error=ErrorInfo(code="execution.threw", message="It threw."), ended_at_ms=1),
        Round(n=2, program=program, summary={"open": 3}, truncated=True, ended_at_ms=2),
    )
    publish = api.queue.publish

    def work(queue: Any, job_id: str) -> None:
        publish(queue, job_id)
        api.move(job_id, Status.QUEUED, Status.RUNNING)
        api.move(job_id, Status.RUNNING, Status.SUCCESS, {"rounds": rounds, "answer": "Three are open."})

    api.queue.publish = work  # type: ignore[method-assign] # the test stands in for the worker
    job = api.vardy().explore("how many are open?", user="ana", functions=["list_payments"], rounds_max=3)
    assert (job.kind, job.status, job.answer) == (JobKind.EXPLORE, Status.SUCCESS, "Three are open.")
    assert [(each.n, each.summary, each.truncated) for each in job.rounds] == [(1, None, False), (2, {"open": 3}, True)]
    assert job.rounds[0].error is not None
    assert job.rounds[1].program == program.source
    assert (job.program, job.output) == (None, None)
    submission = stored(api, job.id).submission
    assert (submission.functions, submission.limits) == (("list_payments",), {"explore_rounds_max": 3})


def test_the_client_need_not_wait_and_sends_the_same_key_again_when_an_answer_is_lost(api: ApiWorld) -> None:
    vardy = api.vardy()
    api.transport.lose.append(httpx.ReadTimeout("lost"))
    job = vardy.explore("how many are open?", user="ana", wait=False)
    assert (job.kind, job.status) == (JobKind.EXPLORE, Status.QUEUED)
    assert api.queue.depth("run") == 1
