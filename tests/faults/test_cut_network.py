"""A network that fails between Redis and API or workers: refused, frozen, deaf, slow, cut in the middle of a reply."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx
import pytest

from tests.faults.conftest import ANA, SECONDS, TIMEOUT_SECONDS, Cluster
from tests.support.deployment import KEY
from tests.support.relay import Relay
from tests.support.scripts import source
from tests.support.waiting import eventually
from vardy_api.client import Vardy
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from collections.abc import Iterator


class Answered(NamedTuple):
    """An answer, and the seconds that it took."""

    answer: httpx.Response
    seconds: float


Ask = Callable[..., Answered]

ANSWER_SECONDS_MAX = 2 * TIMEOUT_SECONDS + 8
"""Who tries the server again may have waited for a thread before; and what a busy machine adds."""
POLL_SECONDS_MAX = 15.0
"""A held-back request looks every five seconds, and its look may take a timeout."""
RECOVERY_SECONDS_MAX = 20.0
"""However long the server was away: the reconciler's longest pause, a lease, and what a busy machine adds."""
REFUSED_SECONDS = float(os.environ.get("VARDY_TEST_REFUSED_SECONDS", "1"))
"""30 and more by hand: the behaviour is the same after the first reconnecting with backoff."""


@pytest.fixture
def cluster(troubled: Cluster) -> Cluster:
    return troubled


@pytest.fixture(autouse=True)
def restored(cluster: Cluster, relay: Relay) -> Iterator[None]:
    yield
    relay.restore()
    assert eventually(cluster.deployment.api_is_ready, seconds=SECONDS)


@pytest.fixture
def vardy(cluster: Cluster) -> Iterator[Vardy]:
    with cluster.deployment.client() as client:
        yield client


@pytest.fixture
def ask(cluster: Cluster) -> Iterator[Ask]:
    headers = {"Authorization": f"Bearer {KEY}"}
    limits = httpx.Limits(max_connections=200)
    with httpx.Client(base_url=cluster.deployment.url, headers=headers, timeout=SECONDS, limits=limits) as client:

        def ask(method: str, path: str, **options: Any) -> Answered:
            began = time.monotonic()
            return Answered(client.request(method, path, **options), time.monotonic() - began)

        yield ask


def requests_of(document: dict[str, Any]) -> list[tuple[str, str]]:
    """Method and path of every route that needs the store, its parameters filled in."""
    filled = {"job_id": "job_01JZZZZZZZZZZZZZZZZZZZZZZZ", "seq": "0"}
    found = []
    for template, methods in document["paths"].items():
        if template in {"/livez", "/metrics", "/problems/{code}"}:
            continue
        path = re.sub(r"{(\w+)}", lambda name: filled.get(name[1], "some"), template)
        found += [(method.upper(), path) for method in methods]
    return found


def is_unavailable(answer: httpx.Response) -> bool:
    """Whether it is the problem that tells a caller to come again."""
    told = (answer.status_code, answer.headers["content-type"], answer.json()["code"])
    return told == (503, "application/problem+json", "service.unavailable") and int(answer.headers["retry-after"]) > 0


TROUBLES: dict[str, Callable[[Relay], None]] = {
    "refused": Relay.refuse,
    "frozen": Relay.swallow,
    "replies dropped": Relay.swallow_replies,
}


@pytest.mark.parametrize("trouble", TROUBLES if "VARDY_TEST_LONG" in os.environ else ["refused", "frozen"])
def test_every_route_answers_503_within_seconds_and_works_at_once_afterwards(
    ask: Ask, relay: Relay, trouble: str
) -> None:
    requests = requests_of(ask("GET", "/openapi.json").answer.json())
    assert len(requests) > 20
    # More of one kind than the API has threads: they do not wait for one another.
    requests += [("GET", "/v1/jobs")] * 60
    TROUBLES[trouble](relay)
    with ThreadPoolExecutor(len(requests) + 2) as pool:
        live, metrics = (pool.submit(ask, "GET", path) for path in ("/livez", "/metrics"))
        answers = list(pool.map(lambda request: ask(*request, json={"request": "x"}), requests))
    assert [request for request, (answer, _) in zip(requests, answers, strict=True) if not is_unavailable(answer)] == []
    assert max(seconds for _, seconds in answers) < ANSWER_SECONDS_MAX
    assert live.result().answer.status_code == 200
    assert "vardy_store_up 0.0" in metrics.result().answer.text
    relay.restore()
    # No connection from before the trouble is used again.
    assert ask("GET", "/v1/jobs").answer.status_code == 200


@pytest.mark.parametrize("trouble", ["refused", "frozen"])
def test_workers_and_api_go_on_by_themselves_with_everything_that_was_accepted(
    cluster: Cluster, relay: Relay, vardy: Vardy, ask: Ask, trouble: str
) -> None:
    asked = cluster.submit(vardy, "ask", f'await add_line({{name: "ask-{trouble}"}}); return 1;')
    cluster.settled(vardy, asked, Status.PENDING_APPROVAL)
    names = [f"running-{trouble}", f"keyed-{trouble}", f"unkeyed-{trouble}"]
    running, keyed, unkeyed = names
    gates = [running, f"after-{keyed}", f"after-{unkeyed}"]
    for gate in gates:
        cluster.ledger.shut(gate)
    jobs = {
        running: cluster.submit(vardy, "running", f'return await count_lines({{name: "{running}"}});'),
        keyed: cluster.submit(vardy, "keyed", f'await add_line({{name: "{keyed}"}}); return 1;'),
        unkeyed: cluster.submit(vardy, "unkeyed", f'await post_letter({{name: "{unkeyed}"}}); return 1;'),
    }
    for name in names:
        cluster.wait_for_call(name)
    warned = cluster.deployment.log().count("lease.not_renewed")
    key = {"Idempotency-Key": f"once-{trouble}"}
    body = {"recipe": "ask", "user": {"id": ANA.id}}
    with ThreadPoolExecutor(2) as pool:
        poll = pool.submit(ask, "GET", f"/v1/jobs/{jobs[running].id}?wait=60")
        assert eventually(lambda: "vardy_waiting_requests 1.0" in ask("GET", "/metrics").answer.text)
        TROUBLES[trouble](relay)
        post = pool.submit(ask, "POST", "/v1/run", json=body, headers=key)
        answer, seconds = poll.result()
    assert is_unavailable(answer)
    assert seconds < POLL_SECONDS_MAX
    assert is_unavailable(post.result().answer)
    assert eventually(lambda: cluster.deployment.log().count("lease.not_renewed") > warned, seconds=SECONDS)
    if trouble == "refused":
        threading.Event().wait(REFUSED_SECONDS)
    for gate in gates:
        cluster.ledger.open(gate)
    relay.restore()

    assert eventually(lambda: ask("POST", "/v1/run", json=body, headers=key).answer.status_code == 202)
    again = ask("POST", "/v1/run", json=body, headers=key).answer
    assert again.headers["idempotent-replayed"] == "true"
    began = time.monotonic()
    cluster.settled(vardy, jobs[running], Status.SUCCESS)
    assert time.monotonic() - began < RECOVERY_SECONDS_MAX
    cluster.settled(vardy, jobs[keyed], Status.SUCCESS)
    # Whether its outcome could still be written depends on who was first; it is never called again.
    cluster.settled(vardy, jobs[unkeyed], Status.SUCCESS, Status.PARTIAL)
    assert [cluster.ledger.applied(name) for name in (keyed, unkeyed)] == [1, 1]
    assert len(cluster.ledger.calls(unkeyed)) == 1
    approved = vardy.approve(vardy.get(asked.id), user="lea", timeout_seconds=SECONDS)
    assert approved.status is Status.SUCCESS
    assert cluster.ledger.applied(f"ask-{trouble}") == 1


def test_a_submission_whose_reply_was_lost_is_one_job_for_whoever_asks_again(
    vardy: Vardy, ask: Ask, relay: Relay
) -> None:
    vardy.save_recipe("given", source="async function run(params) { return params; }", reviewed_by="rita")
    body = {"recipe": "given", "params": {"mark": "the-marked-request"}, "user": {"id": "marked"}}
    key = {"Idempotency-Key": "marked"}
    # The server knows the script from now on.
    assert ask("POST", "/v1/run", json=body | {"params": {}}).answer.status_code == 202
    relay.swallow_answer_to(b"the-marked-request")
    assert is_unavailable(ask("POST", "/v1/run", json=body, headers=key).answer)
    assert relay.has_met(b"the-marked-request")
    again = ask("POST", "/v1/run", json=body, headers=key).answer
    assert (again.status_code, again.headers["idempotent-replayed"]) == (202, "true")
    found = ask("GET", "/v1/jobs?user=marked").answer.json()
    assert len(found["items"]) == 2
    assert found["items"][0]["id"] == again.json()["id"]


def test_journal_writes_whose_replies_are_lost_cost_no_second_effect(
    cluster: Cluster, relay: Relay, vardy: Vardy
) -> None:
    """The start of both, and the outcome of another: applied by the server, and sent again by the worker."""
    lost_starts = [b'"function":"add_line","state":"STARTED"', b'"function":"post_letter","state":"STARTED"']
    lost_outcome = b'"function":"post_letter","state":"SUCCEEDED"'
    for marker in lost_starts:
        relay.swallow_answer_to(marker)
    repeated = cluster.submit(vardy, "repeated", 'await add_line({name: "repeated"}); return 1;')
    started = cluster.submit(vardy, "started", 'await post_letter({name: "started"}); return 1;')
    assert eventually(lambda: all(map(relay.has_met, lost_starts)), seconds=SECONDS)
    relay.swallow_answer_to(lost_outcome)
    done = cluster.submit(vardy, "done", 'await post_letter({name: "done"}); return 1;')
    cluster.settled(vardy, done, Status.SUCCESS)
    assert relay.has_met(lost_outcome)
    cluster.settled(vardy, repeated, Status.SUCCESS)
    cluster.settled(vardy, started, Status.SUCCESS)
    for name in ("repeated", "started", "done"):
        assert (len(cluster.ledger.calls(name)), cluster.ledger.applied(name)) == (1, 1)


def test_a_connection_cut_in_the_middle_of_a_reply_changes_nothing(
    cluster: Cluster, relay: Relay, vardy: Vardy
) -> None:
    markers = [b'"function":"post_letter","state":"STARTED"', b'"function":"post_letter","state":"SUCCEEDED"']
    for marker in markers:
        relay.cut_while_answering(marker)
    job = cluster.submit(vardy, "cut", 'await post_letter({name: "cut"}); return 1;')
    cluster.settled(vardy, job, Status.SUCCESS)
    assert all(map(relay.has_met, markers))
    assert len(cluster.ledger.calls("cut")) == 1


def test_messages_that_are_lost_or_doubled_on_their_way_make_one_run(
    cluster: Cluster, relay: Relay, vardy: Vardy
) -> None:
    """The worker's next take is cut off in its reply, and whether a publish arrived is not known."""
    body = 'await post_letter({name: "doubled"}); return 1;'
    vardy.save_recipe("doubled", source=source(body), reviewed_by="rita")
    relay.cut_while_answering(b"BRPOP")
    assert eventually(lambda: relay.has_met(b"BRPOP"), seconds=SECONDS)
    relay.swallow_answer_to(b"LPUSH")
    job = vardy.run(recipe="doubled", user=ANA, wait=False)
    assert relay.has_met(b"LPUSH")
    cluster.settled(vardy, job, Status.SUCCESS)
    assert len(cluster.ledger.calls("doubled")) == 1


def test_slow_replies_only_take_longer(cluster: Cluster, relay: Relay, vardy: Vardy) -> None:
    relay.slow_down(0.05)
    job = cluster.submit(vardy, "slow", 'await post_letter({name: "slow"}); return 1;')
    cluster.settled(vardy, job, Status.SUCCESS)
    assert len(cluster.ledger.calls("slow")) == 1
