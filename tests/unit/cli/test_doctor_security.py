"""What `vardy doctor` says of what strangers could reach. Reading it from a real server is tested elsewhere."""

from __future__ import annotations

import pytest

from tests.support.factories import ANA
from vardy_api.cli.checkup import Level
from vardy_api.cli.doctor_security import NAMED_MAX, api_checks, key_checks, redis_access_checks
from vardy_api.http.loopback import is_loopback
from vardy_worker.contracts.user import ApiKey, Scope
from vardy_worker.settings import load_settings
from vardy_worker.store.address import RedisAccess, redis_access

NOW_MS = 1_000_000


def key(key_id: str = "key_1", *scopes: Scope, **fields: object) -> ApiKey:
    given = {"owner": "shop", "secret_sha256": "0" * 64, "created_at_ms": 0, "expires_at_ms": NOW_MS * 2, **fields}
    return ApiKey.model_validate({"id": key_id, "scopes": scopes or (Scope.READ,), **given})


@pytest.mark.parametrize(
    ("url", "access"),
    [
        ("redis://10.0.0.5:6379/0", RedisAccess(("10.0.0.5",), password=False, tls=False)),
        ("rediss://user:secret@redis.internal/0", RedisAccess(("redis.internal",), password=True, tls=True)),
        ("redis://:secret@[fd00::5]:6379/0", RedisAccess(("fd00::5",), password=True, tls=False)),
        ("rediss://redis/0?password=secret", RedisAccess(("redis",), password=True, tls=True)),
        ("unix:///run/redis.sock", RedisAccess((), password=False, tls=False)),
        ("redis+sentinel://:secret@a,b:1/main", RedisAccess(("a", "b"), password=True, tls=False)),
        ("rediss+sentinel://a/main", RedisAccess(("a",), password=False, tls=True)),
    ],
)
def test_an_address_of_redis_tells_what_guards_it(url: str, access: RedisAccess) -> None:
    assert redis_access(url) == access
    assert "secret" not in repr(redis_access(url))


@pytest.mark.parametrize(
    ("url", "lacking"),
    [
        ("redis://redis/0", "without a password and TLS"),
        ("redis://:secret@redis/0", "without TLS"),
        ("rediss://redis/0", "without a password"),
    ],
)
def test_a_server_in_the_network_without_guards_is_a_warning(url: str, lacking: str) -> None:
    [check] = redis_access_checks(redis_access(url))
    assert (check.level, check.name) == (Level.WARNING, "redis access")
    assert check.message == f"Redis at redis is reached {lacking}."
    assert "rediss://" in check.action


@pytest.mark.parametrize(
    "url", ["redis://localhost/0", "redis://127.0.0.1/0", "redis://[::1]/0", "unix:///run/x", "rediss://:s@redis/0"]
)
def test_a_server_of_this_machine_or_a_guarded_one_is_nothing_to_tell(url: str) -> None:
    assert redis_access_checks(redis_access(url)) == []


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("[::1]", True),
        ("::ffff:127.0.0.1", True),
        ("localhost", True),
        ("0.0.0.0", False),  # noqa: S104 - what is looked for
        ("::", False),
        ("10.0.0.1", False),
        ("127.0.0.1.example.com", False),
        ("localhost.example.com", False),
        ("", False),
    ],
)
def test_which_addresses_are_this_machines_own(host: str, own: bool) -> None:
    assert is_loopback(host) is own


def test_an_api_on_this_machine_alone_is_nothing_to_tell() -> None:
    assert api_checks(load_settings(api_host="127.0.0.1"), None) == []
    assert api_checks(load_settings(), "https://vardy.example") == []
    assert api_checks(load_settings(), "http://localhost:8000") == []


def test_an_api_that_strangers_reach_is_warned_of_until_it_is_guarded() -> None:
    everywhere = {"api_host": "0.0.0.0"}  # noqa: S104 - what is warned of
    checks = api_checks(load_settings(**everywhere), None)
    assert [(check.name, check.level) for check in checks] == [("metrics", Level.WARNING), ("proxy", Level.WARNING)]
    guarded = load_settings(**everywhere, metrics_key_needed=True, trusted_proxies="10.0.0.2")
    assert api_checks(guarded, None) == []


def test_a_key_that_travels_without_tls_is_warned_of() -> None:
    [check] = api_checks(load_settings(), "http://vardy.example:8000/")
    assert (check.name, check.message) == ("transport", "The key goes to vardy.example without TLS.")


def test_keys_that_expire_and_do_one_thing_are_nothing_to_tell() -> None:
    keys = [
        key(),
        key("key_2", Scope.ADMIN),
        key("key_3", Scope.ADMIN, Scope.OPERATE, person=ANA),
        key("key_4", *Scope, expires_at_ms=None, revoked_at_ms=1),
        key("key_5", *Scope, expires_at_ms=1),
    ]
    assert key_checks(keys, NOW_MS) == []


def test_keys_that_never_expire_are_named_up_to_a_number() -> None:
    keys = [key(f"key_{number}", expires_at_ms=None, name=f"n\x1b{number}") for number in range(NAMED_MAX + 1)]
    [check] = key_checks(keys, NOW_MS)
    assert (check.name, check.level) == ("key expiry", Level.WARNING)
    assert check.message.startswith("6 keys never expire: ")
    assert "(key_4), …" in check.message
    assert "key_5" not in check.message
    assert "\x1b" not in check.message


@pytest.mark.parametrize("scope", [Scope.SUBMIT, Scope.DECIDE, Scope.OPERATE])
def test_a_key_that_administers_and_acts_in_anybodys_name_is_named(scope: Scope) -> None:
    [check] = key_checks([key("key_1", Scope.ADMIN, scope)], NOW_MS)
    assert check.name == "key reach"
    assert "key_1" in check.message
