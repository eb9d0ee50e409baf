"""Whatever happened to a job's effects, every view counts them alike, and the parts add up to the whole."""

from __future__ import annotations

import io
import json
import re
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from tests.support.api import ApiWorld, LoopThread
from tests.support.factories import effect
from vardy_api.cli.main import main
from vardy_api.cli.session import Environment
from vardy_worker.contracts.journal import EffectRecord, EffectState
from vardy_worker.contracts.status import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

PARTS = ("succeeded", "failed", "unknown", "pending", "skipped", "resolved")
NAMES = {
    EffectState.PENDING: "pending",
    EffectState.STARTED: "pending",
    EffectState.SUCCEEDED: "succeeded",
    EffectState.FAILED: "failed",
    EffectState.UNKNOWN: "unknown",
    EffectState.SKIPPED: "skipped",
    EffectState.RESOLVED_DONE: "resolved",
    EffectState.RESOLVED_NOT_DONE: "resolved",
}
# None: nothing was written of the effect yet.
JOBS = st.lists(
    st.tuples(
        st.sampled_from([Status.COMMITTING, Status.PARTIAL, Status.FUNCTION_ERROR]),
        st.lists(st.none() | st.sampled_from(list(EffectState)), min_size=1, max_size=6),
    ),
    min_size=1,
    max_size=4,
)


@pytest.fixture(scope="module")
def loop_thread() -> Iterator[LoopThread]:
    thread = LoopThread()
    yield thread
    thread.close()


@pytest.fixture(autouse=True)
def _lines_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COLUMNS", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


def expected(states: list[EffectState | None]) -> dict[str, int]:
    counts = dict.fromkeys(PARTS, 0)
    for state in states:
        counts[NAMES[state or EffectState.PENDING]] += 1
    return {"total": len(states), **counts}


def on_the_command_line(world: ApiWorld, token: str, *words: str) -> str:
    shown = io.StringIO()
    connect = Environment(connect=lambda _url, _key: world.vardy(token))
    with redirect_stdout(shown):
        assert main(words, environment=connect) == 0
    return shown.getvalue()


def drawn(text: str) -> dict[str, int]:
    """The counts of the first line of a report."""
    found = re.search(r"(\d+) effects?: ([0-9a-z, ]+)$", text.splitlines()[0])
    assert found, text
    parts = {word: int(number) for number, word in (part.split() for part in found[2].split(", "))}
    return {"total": int(found[1]), **dict.fromkeys(PARTS, 0), **parts}


def jobs_by_status(http: httpx.Client) -> dict[str, int]:
    families = text_string_to_metric_families(http.get("/metrics").text)
    [jobs] = [family for family in families if family.name == "vardy_jobs"]
    return {sample.labels["status"]: int(sample.value) for sample in jobs.samples if sample.value}


# The thread has no state of the examples, each of which makes a world of its own.
@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=JOBS, erase=st.booleans())
def test_every_view_counts_alike_and_the_parts_add_up(
    loop_thread: LoopThread, made: list[tuple[Status, list[EffectState | None]]], erase: bool
) -> None:
    world = ApiWorld(loop_thread)
    token = world.token()
    http = world.http(token)
    wanted: dict[str, dict[str, int]] = {}
    for status, states in made:
        records = tuple(EffectRecord(seq=seq, state=state) for seq, state in enumerate(states) if state)
        job = world.job(status, effects=tuple(map(effect, range(len(states)))), records=records)
        wanted[job.id] = expected(states)
        if erase and status is Status.FUNCTION_ERROR:
            assert http.delete(f"/v1/jobs/{job.id}").status_code == 200

    listed = {item["id"]: item for item in http.get("/v1/jobs").json()["items"]}
    assert listed.keys() == wanted.keys()
    for job_id, counts in wanted.items():
        shown = http.get(f"/v1/jobs/{job_id}").json()["plan"]["counts"]
        assert shown == counts
        assert sum(shown[part] for part in PARTS) == shown["total"]
        assert listed[job_id]["effects_total"] == shown["total"]
        assert drawn(on_the_command_line(world, token, "jobs", "show", job_id)) == counts
        printed: Any = json.loads(on_the_command_line(world, token, "commits", "show", job_id, "--json"))
        assert printed["plan"]["counts"] == counts

    statuses = [str(status) for status, _ in made]
    assert jobs_by_status(http) == {status: statuses.count(status) for status in set(statuses)}
    assert sorted(item["status"] for item in listed.values()) == sorted(statuses)
