"""`vardy doctor`: what it says of what it finds. Reading the facts is tested on a real server elsewhere."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.support.api import CATALOGUE
from vardy_api.cli.checkup import Check, Level
from vardy_api.cli.doctor_redis import ServerFacts, server_checks
from vardy_api.cli.doctor_sentinel import SentinelFacts, sentinel_checks
from vardy_api.cli.doctor_service import ServiceFacts, service_checks
from vardy_api.cli.exits import ExitCode
from vardy_api.client import Vardy
from vardy_api.shapes import QueuesView, QueueView, RulesView, WorkerView
from vardy_worker.contracts.functions import Catalogue
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import Scope
from vardy_worker.ports import WorkerSeen

if TYPE_CHECKING:
    from tests.support.api import ApiWorld
    from tests.unit.cli.conftest import Cli

GOOD_SERVER = {
    "redis_version": "7.4.1",
    "role": "master",
    "cluster_enabled": 0,
    "connected_slaves": 0,
    "loading": 0,
    "aof_enabled": 1,
    "aof_last_write_status": "ok",
    "maxmemory_policy": "noeviction",
    "used_memory": 10 * 2**20,
    "maxmemory": 100 * 2**20,
}
NOW = datetime(2025, 3, 1, tzinfo=UTC)
RULES = RulesView(version=2, digest="d" * 64, text="default: approve\n")


def server(fsync: str = "always", skew_seconds: float = 0.0, **info: Any) -> ServerFacts:
    config = {"appendfsync": fsync} if fsync else {}
    return ServerFacts(info=GOOD_SERVER | info, config=config, skew_seconds=skew_seconds)


def replicas(number: int, *, lag: int = 0, journal: int = 0, at_least: int = 0, sentinels: bool = False) -> ServerFacts:
    info = {f"slave{n}": {"ip": "h", "port": n, "state": "online", "lag": lag} for n in range(number)}
    config = {"appendfsync": "always", "min-replicas-to-write": str(at_least)}
    return ServerFacts(
        info=GOOD_SERVER | info | {"connected_slaves": number},
        config=config,
        journal_replicas=journal,
        sentinels=sentinels,
    )


def sentinel(place: str, *, others: int = 2, port: int = 1, no_quorum: str = "") -> SentinelFacts:
    state = {"ip": "h", "port": port, "num-other-sentinels": others, "quorum": 2}
    return SentinelFacts(place, state, no_quorum)


def service(**facts: Any) -> ServiceFacts:
    worker = WorkerView(worker="w1", queues=("run", "commit"), started_at=NOW, seen_at=NOW, confined=True)
    queues = QueuesView(queues=(QueueView(name="run", depth=3, oldest_seconds=1.0),), workers=(worker,))
    given = {"queues": queues, "catalogue": CATALOGUE, "rules": RULES, "admin_keys": 1, "jobs": {}, **facts}
    return ServiceFacts(**given)


def named(checks: list[Check], name: str) -> Check:
    return next(check for check in checks if check.name == name)


def test_a_good_server_passes_everything() -> None:
    checks = server_checks(server())
    assert {check.level for check in checks} == {Level.OK}
    assert [check.action for check in checks if check.action] == []


@pytest.mark.parametrize(
    ("facts", "name", "level", "action"),
    [
        (server(aof_enabled=0), "redis persistence", Level.FAILURE, "appendonly yes"),
        (server(aof_last_write_status="err"), "redis persistence", Level.FAILURE, "disk"),
        (server(fsync="no"), "redis persistence", Level.FAILURE, "always"),
        (server(fsync="everysec"), "redis persistence", Level.WARNING, "always"),
        (server(fsync=""), "redis persistence", Level.WARNING, "appendfsync"),
        (server(loading=1), "redis persistence", Level.WARNING, "Wait"),
        (server(maxmemory_policy="allkeys-lru"), "redis eviction", Level.FAILURE, "noeviction"),
        (server(cluster_enabled=1), "redis role", Level.FAILURE, "single primary"),
        (server(role="slave"), "redis role", Level.FAILURE, "primary"),
        (server(rdb_last_bgsave_status="err"), "redis persistence", Level.FAILURE, "disk"),
        (replicas(2), "redis replicas", Level.WARNING, "VARDY_JOURNAL_REPLICAS"),
        (replicas(1, journal=1), "redis replicas", Level.WARNING, "another replica"),
        (replicas(2, journal=1), "redis replicas", Level.OK, ""),
        (replicas(0, journal=1), "redis replicas", Level.FAILURE, "VARDY_JOURNAL_REPLICAS"),
        (replicas(1, at_least=2), "redis replicas", Level.FAILURE, "min-replicas-to-write"),
        (replicas(1, lag=11, at_least=1), "redis replicas", Level.FAILURE, "min-replicas-to-write"),
        (replicas(0, sentinels=True), "redis replicas", Level.WARNING, "Start one"),
        (server(redis_version="6.2.14"), "redis", Level.WARNING, "7.2"),
        (server(used_memory=90 * 2**20), "redis memory", Level.WARNING, "maxmemory"),
        (server(skew_seconds=-3.0), "clocks", Level.WARNING, "NTP"),
        (server(skew_seconds=90.0), "clocks", Level.FAILURE, "NTP"),
    ],
)
def test_what_would_lose_data_is_told_with_what_to_do(facts: ServerFacts, name: str, level: Level, action: str) -> None:
    check = named(server_checks(facts), name)
    assert check.level is level
    assert action in check.action


@pytest.mark.parametrize(
    ("facts", "level", "said"),
    [
        ([sentinel("a"), sentinel("b"), sentinel("c")], Level.OK, "3 Sentinels with quorum 2, 3 of 3 asked."),
        ([sentinel("a"), sentinel("b"), SentinelFacts("c")], Level.WARNING, "No answer from c."),
        ([sentinel("a", others=0)], Level.WARNING, "1 Sentinel with quorum 2"),
        ([sentinel("a", no_quorum="NOQUORUM 1 usable"), sentinel("b")], Level.FAILURE, "says a: NOQUORUM 1 usable"),
        ([sentinel("a"), sentinel("b", port=2)], Level.FAILURE, "different primaries"),
        ([SentinelFacts("a")], Level.FAILURE, "No Sentinel names a primary."),
    ],
)
def test_what_keeps_sentinels_from_a_failover_is_told(facts: list[SentinelFacts], level: Level, said: str) -> None:
    [check] = sentinel_checks(facts)
    assert check.level is level
    assert said in check.message
    assert bool(check.action) is (level is not Level.OK)


@pytest.mark.parametrize(
    ("looked", "level"),
    [((0, 0), Level.OK), ((31, 0), Level.WARNING), ((31, None), Level.FAILURE), ((None, None), Level.FAILURE)],
)
def test_workers_that_look_for_no_lost_jobs_are_told(looked: tuple[int | None, int | None], level: Level) -> None:
    """Seconds since each last looked; None: never, in the minute that it runs."""
    workers = tuple(
        WorkerView(
            worker=f"w{number}",
            queues=("run", "commit"),
            started_at=NOW - timedelta(minutes=1),
            seen_at=NOW,
            confined=True,
            looked_at=None if seconds is None else NOW - timedelta(seconds=seconds),
        )
        for number, seconds in enumerate(looked)
    )
    check = named(service_checks(service(queues=QueuesView(queues=(), workers=workers))), "reconciler")
    assert check.level is level
    assert level is not Level.WARNING or "not w0." in check.message


def test_a_server_that_names_itself_valkey_is_called_so() -> None:
    assert "Valkey 9.1" in named(server_checks(server(valkey_version="9.1.0")), "redis").message


def test_a_good_deployment_passes_everything() -> None:
    assert {check.level for check in service_checks(service())} == {Level.OK}


@pytest.mark.parametrize(
    ("facts", "name", "level", "action"),
    [
        ({"queues": QueuesView(queues=(), workers=())}, "workers", Level.FAILURE, "vardy worker"),
        ({"catalogue": Catalogue()}, "catalogue", Level.FAILURE, "VARDY_FUNCTIONS"),
        ({"rules": RulesView(version=0, digest="", text="default: approve\n")}, "rules", Level.WARNING, "rules apply"),
        ({"admin_keys": 0}, "keys", Level.WARNING, "--bootstrap"),
        ({"jobs": {Status.PARTIAL: 2}}, "jobs", Level.WARNING, "commits list"),
    ],
)
def test_what_a_deployment_lacks_is_told_with_what_to_do(
    facts: dict[str, Any], name: str, level: Level, action: str
) -> None:
    check = named(service_checks(service(**facts)), name)
    assert check.level is level
    assert action in check.action


def test_workers_that_serve_no_commits_are_a_failure() -> None:
    worker = WorkerView(worker="w1", queues=("run",), started_at=NOW, seen_at=NOW)
    check = named(service_checks(service(queues=QueuesView(queues=(), workers=(worker,)))), "workers")
    assert (check.level, "commit" in check.message) == (Level.FAILURE, True)


def sandbox_checks(queues: tuple[str, ...] = ("run", "commit"), **confined: bool | None) -> list[Check]:
    workers = tuple(
        WorkerView(worker=name, queues=queues, started_at=NOW, seen_at=NOW, confined=value)
        for name, value in confined.items()
    )
    facts = service(queues=QueuesView(queues=(), workers=workers))
    return [found for found in service_checks(facts) if found.name == "sandbox"]


def test_workers_whose_sandbox_is_not_confined_are_named_in_a_warning() -> None:
    [warning] = sandbox_checks(good=True, bare=False, starting=None, other=False)
    assert warning.level is Level.WARNING
    assert "in bare, other:" in warning.message
    assert "Linux" in warning.action
    [fine] = sandbox_checks(good=True)
    assert (fine.level, "1 worker" in fine.message) == (Level.OK, True)


def test_of_a_worker_whose_sandbox_has_not_started_nothing_is_claimed() -> None:
    [warning] = sandbox_checks(good=True, starting=None)
    assert warning.level is Level.WARNING
    assert "not started yet in starting" in warning.message
    assert "Ask again" in warning.action


def test_workers_that_run_no_programs_have_no_sandbox_to_judge() -> None:
    assert sandbox_checks(("commit",), commits=None) == []


def test_the_api_tells_whether_a_workers_sandbox_is_confined(cli: Cli, world: ApiWorld) -> None:
    world.presence.beat(WorkerSeen("w1", ("run", "commit"), 0, 0, confined=False), ttl_seconds=60)
    ran = cli("doctor", "--api-key", cli.token, "--json")
    [check] = [check for check in ran.json["checks"] if check["name"] == "sandbox"]
    assert (check["level"], "w1" in check["message"], ran.code) == ("warning", True, ExitCode.OK)


def test_a_message_that_waits_for_minutes_is_a_warning() -> None:
    queues = QueuesView(
        queues=(QueueView(name="run", depth=900, oldest_seconds=400.0), QueueView(name="commit", depth=0)),
        workers=(),
    )
    check = named(service_checks(service(queues=queues)), "queues")
    assert check.level is Level.WARNING
    assert "run 900, commit 0" in check.message
    assert "7 min" in check.message


def test_recipes_that_need_a_judge_where_there_is_none_are_a_warning() -> None:
    (check,) = [check for check in service_checks(service(without_judge=("a-list", "b-list"))) if check.name == "judge"]
    assert check.level is Level.WARNING
    assert check.message.startswith("2 recipes (a-list, b-list) have texts judged, and VARDY_JUDGE_MODEL is not set")
    many = named(service_checks(service(without_judge=tuple("abcdefg"))), "judge")
    assert "(a, b, c, d, e, …)" in many.message
    assert [check for check in service_checks(service()) if check.name == "judge"] == []


def test_rules_that_do_nothing_are_warned_of_by_name() -> None:
    text = "default: block\nrules:\n  - name: mails\n    on: ['send_*']\n    then: allow\n"
    rules = RulesView(version=1, digest="d" * 64, text=text)
    check = named(service_checks(service(rules=rules)), "rules")
    assert (check.level, "do nothing: mails" in check.message) == (Level.WARNING, True)


def test_rules_that_no_longer_fit_the_catalogue_are_a_failure() -> None:
    text = "default: block\nrules:\n  - name: mails\n    on: [send_email]\n    when: args.to == 'x'\n    then: allow\n"
    rules = RulesView(version=1, digest="d" * 64, text=text)
    check = named(service_checks(service(rules=rules)), "rules")
    assert (check.level, "rules apply" in check.action) == (Level.FAILURE, True)


def test_without_redis_the_api_is_asked(cli: Cli, world: ApiWorld) -> None:
    world.presence.beat(WorkerSeen("w1", ("run", "commit"), 0, 0, confined=True), ttl_seconds=60)
    ran = cli("doctor", "--api-key", cli.token, "--json")
    levels = {check["name"]: check["level"] for check in ran.json["checks"]}
    assert levels == {
        "settings": "warning",
        "api": "ok",
        "workers": "ok",
        "reconciler": "ok",
        "sandbox": "ok",
        "queues": "ok",
        "catalogue": "ok",
        "rules": "warning",
    }
    assert (ran.code, ran.json["ok"]) == (ExitCode.OK, True)


def test_a_failure_is_the_exit_code(cli: Cli) -> None:
    ran = cli("doctor", "--api-key", cli.token)
    assert ran.code == ExitCode.ERROR
    assert "failure  workers" in ran.out
    assert "→ Start one with `vardy worker`." in ran.out
    assert "1 of 6 checks failed." in ran.out


def test_a_key_that_is_refused_or_lacks_scopes_is_told(cli: Cli, world: ApiWorld) -> None:
    refused = cli("doctor", "--api-key", "vk_wrong", "--json")
    assert refused.json["checks"][-1]["level"] == "failure"
    weak = cli("doctor", "--api-key", world.token(Scope.SUBMIT), "--json")
    assert weak.json["checks"][-1] == {
        "name": "service",
        "level": "warning",
        "message": "The API does not show queues and workers: The API key lacks the scope operate or admin.",
        "action": "Use a key with the scope operate.",
    }


def test_an_api_that_nobody_named_may_be_absent(cli: Cli) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        message = "refused"
        raise httpx.ConnectError(message, request=request)

    cli.connect = lambda _url, _key: Vardy(
        "http://vardy", transport=httpx.MockTransport(refuse), pause=lambda _seconds: None
    )
    assert cli("doctor", "--json").json["checks"][-1]["level"] == "warning"
    assert cli("doctor", "--url", "http://vardy", "--json").json["checks"][-1]["level"] == "failure"


def test_an_api_that_is_not_ready_is_a_failure(cli: Cli) -> None:
    transport = httpx.MockTransport(lambda _request: httpx.Response(503, json={"detail": "Redis cannot be reached."}))
    cli.connect = lambda _url, _key: Vardy("http://vardy", transport=transport)
    check = cli("doctor", "--json").json["checks"][-1]
    assert (check["level"], "Redis cannot be reached." in check["message"]) == ("failure", True)


def test_a_wrong_setting_is_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VARDY_APPROVAL_TTL_SECONDS", "soon")
    check = cli("doctor", "--json").json["checks"][0]
    assert (check["level"], "VARDY_APPROVAL_TTL_SECONDS" in check["message"]) == ("failure", True)


def test_a_misspelt_setting_is_named_with_what_was_meant(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VARDY_MODLE", "openai/gpt-5")
    monkeypatch.setenv("VARDY_COLOUR", "red")
    found = {check["message"]: check for check in cli("doctor", "--json").json["checks"]}
    modle = found["VARDY_MODLE is no setting, so nothing reads it."]
    assert (modle["level"], modle["action"]) == ("warning", "Did you mean VARDY_MODEL?")
    assert "VARDY_COLOUR is no setting, so nothing reads it." in found


def test_every_setting_is_known(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VARDY_API_KEY", "VARDY_MODEL", "VARDY_CALLS_MAX", "VARDY_DEV_API_KEY"):
        monkeypatch.setenv(name, "9")
    assert "is no setting" not in cli("doctor").out


def test_an_address_that_is_no_redis_is_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VARDY_REDIS_URL", "http://localhost")
    ran = cli("doctor", "--json")
    check = next(check for check in ran.json["checks"] if check["name"] == "redis")
    assert (check["level"], ran.code) == ("failure", ExitCode.ERROR)
