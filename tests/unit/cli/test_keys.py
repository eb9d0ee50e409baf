"""`vardy keys`."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from vardy_api.cli.exits import CommandError, ExitCode
from vardy_api.cli.first_key import bootstrap_key
from vardy_api.cli.key_checks import unused_for
from vardy_api.shapes import KeyCreate, KeyView
from vardy_worker.contracts.quota import QuotaOf
from vardy_worker.contracts.user import Scope

if TYPE_CHECKING:
    from tests.support.api import ApiWorld
    from tests.unit.cli.conftest import Cli

FIRST = KeyCreate(name="operations", scopes=(Scope.ADMIN, Scope.OPERATE))


def test_a_key_is_made_with_its_secret_shown_once(cli: Cli) -> None:
    ran = cli("keys", "create", "--name", "billing", "--scope", "submit", "--scope", "read", "--json")
    assert ran.code == ExitCode.OK
    assert ran.json["scopes"] == ["submit", "read"]
    assert cli("jobs", "list", "--api-key", ran.json["key"]).code == ExitCode.OK
    listed = cli("keys", "list")
    assert ran.json["key"] not in listed.out
    assert "submit, read" in listed.out
    assert "key" not in cli("keys", "list", "--json").json["items"][0]


def test_the_secret_stands_on_a_line_of_its_own(cli: Cli) -> None:
    lines = cli("keys", "create", "--scope", "read", "--name", "reader").out.splitlines()
    secret = next(line.strip() for line in lines if line.strip().startswith("vk_"))
    assert cli("jobs", "list", "--api-key", secret).code == ExitCode.OK


def test_a_key_of_a_person_has_the_persons_roles_and_an_end(cli: Cli, world: ApiWorld) -> None:
    words = ("keys", "create", "--scope", "decide", "--person", "lea", "--role", "support_lead", "--expires-in", "90d")
    made = cli(*words, "--json").json
    assert made["person"]["roles"] == ["support_lead"]
    assert made["owner"] == "lea"
    assert "lea (support_lead)" in cli(*words).out
    assert "lea (support_lead)" in cli("keys", "list").out
    key = next(key for key in cli("keys", "list", "--json").json["items"] if key["id"] == made["id"])
    assert key["expires_at"] is not None
    world.clock.forward(91 * 86_400)
    refused = cli("jobs", "list", "--api-key", made["key"], "--json")
    assert (refused.code, refused.problem["code"]) == (ExitCode.ERROR, "auth.invalid")


def test_a_revoked_key_is_refused_at_once(cli: Cli) -> None:
    made = cli("keys", "create", "--scope", "read", "--name", "reader", "--json").json
    assert cli("keys", "revoke", made["id"], "--dry-run").code == ExitCode.OK
    assert cli("jobs", "list", "--api-key", made["key"]).code == ExitCode.OK
    assert cli("keys", "revoke", made["id"], "--json").json["revoked_at"] is not None
    assert cli("jobs", "list", "--api-key", made["key"]).code == ExitCode.ERROR
    assert "revoked" in cli("keys", "list").out
    assert cli("keys", "revoke", "key_none").code == ExitCode.NOT_FOUND
    assert cli("keys", "revoke", "key_none", "--dry-run").code == ExitCode.NOT_FOUND


def test_the_last_key_that_can_make_others_is_not_revoked_by_accident(cli: Cli, world: ApiWorld) -> None:
    (mine,) = cli("keys", "list", "--json").json["items"]
    asked = cli("keys", "revoke", mine["id"], "--json")
    assert (asked.code, asked.problem["code"]) == (ExitCode.CONFIRMATION_NEEDED, "cli.confirmation_needed")
    assert "--yes" in asked.problem["detail"]
    cli("keys", "create", "--scope", "admin", "--name", "spare")
    assert cli("keys", "revoke", mine["id"]).code == ExitCode.OK
    assert cli("jobs", "list").code == ExitCode.ERROR
    assert len(world.documents.all("keys")) == 2


def test_the_last_key_that_can_make_others_is_revoked_on_purpose(cli: Cli) -> None:
    (mine,) = cli("keys", "list", "--json").json["items"]
    cli("keys", "create", "--scope", "read", "--name", "reader")
    assert cli("keys", "revoke", mine["id"], "--yes").code == ExitCode.OK


def test_a_rotated_key_shows_its_new_secret_once_and_until_when_the_other_works(cli: Cli) -> None:
    made = cli("keys", "create", "--scope", "read", "--name", "reader", "--json").json
    assert cli("keys", "rotate", made["id"], "--dry-run").code == ExitCode.OK
    assert cli("jobs", "list", "--api-key", made["key"]).code == ExitCode.OK
    shown = cli("keys", "rotate", made["id"], "--keep", "1h")
    secret = next(line.strip() for line in shown.out.splitlines() if line.strip().startswith("vk_"))
    assert "shown this once" in shown.out
    assert secret != made["key"]
    for token in (made["key"], secret):
        assert cli("jobs", "list", "--api-key", token).code == ExitCode.OK
    again = cli("keys", "rotate", made["id"], "--json").json
    assert again["former_secret_until"] == again["rotated_at"]
    for token in (made["key"], secret):
        assert cli("jobs", "list", "--api-key", token).code == ExitCode.ERROR
    assert cli("jobs", "list", "--api-key", again["key"]).code == ExitCode.OK
    assert not {secret, again["key"]} & set(cli("keys", "show", made["id"]).out.split())


def test_a_key_that_ended_is_not_rotated(cli: Cli) -> None:
    made = cli("keys", "create", "--scope", "read", "--name", "reader", "--json").json
    cli("keys", "revoke", made["id"])
    for option in ("--dry-run", "--json"):
        assert cli("keys", "rotate", made["id"], option).code == ExitCode.CONFLICT
    assert cli("keys", "rotate", "key_none").code == ExitCode.NOT_FOUND
    assert cli("keys", "show", "key_none").code == ExitCode.NOT_FOUND
    assert cli("keys", "rotate", made["id"], "--keep", "31d").code == ExitCode.USAGE


def test_the_list_says_how_long_the_secret_before_works_and_when_a_key_was_used(cli: Cli, world: ApiWorld) -> None:
    world.clock.at_ms = int(time.time() * 1000)
    made = cli("keys", "create", "--scope", "read", "--name", "reader", "--json").json
    cli("keys", "rotate", made["id"], "--keep", "2h")
    row = next(line for line in cli("keys", "list").out.splitlines() if made["id"] in line)
    assert "secret before works for 2 h" in row
    assert "never" in row
    shown = cli("keys", "show", made["id"]).out
    assert "works for 2 h" in shown
    assert "never" in shown
    assert "this hour" in cli("keys", "list").out


NOW = datetime(2026, 6, 1, tzinfo=UTC)
DEAD = KeyView(id="key_1", name="dead", owner="a", scopes=(Scope.READ,), created_at=NOW - timedelta(days=100))


@pytest.mark.parametrize(
    ("key", "unused"),
    [
        (DEAD, True),
        (DEAD.model_copy(update={"last_used_at": NOW - timedelta(days=91)}), True),
        (DEAD.model_copy(update={"last_used_at": NOW - timedelta(days=89)}), False),
        (DEAD.model_copy(update={"created_at": NOW - timedelta(days=2)}), False),
        (DEAD.model_copy(update={"revoked_at": NOW}), False),
        (DEAD.model_copy(update={"expires_at": NOW}), False),
    ],
)
def test_an_unused_key_is_a_valid_one_that_nobody_used_or_made_for_so_long(key: KeyView, unused: bool) -> None:
    assert unused_for([key], timedelta(days=90).total_seconds(), NOW) == ((key,) if unused else ())


def test_unused_keys_are_listed_alone(cli: Cli, world: ApiWorld) -> None:
    made = cli("keys", "create", "--scope", "read", "--name", "reader", "--json").json
    world.clock.at_ms = int(time.time() * 1000)
    listed = cli("keys", "list", "--unused", "90d", "--json").json["items"]
    assert [key["id"] for key in listed] == [made["id"]]
    assert cli("keys", "revoke", made["id"]).code == ExitCode.OK
    assert cli("keys", "list", "--unused", "90d").out == "No key matches.\n"


def test_a_key_without_a_scope_is_a_usage_error(cli: Cli) -> None:
    ran = cli("keys", "create", "--name", "useless")
    assert ran.code == ExitCode.USAGE
    assert "--scope" in ran.err
    assert cli("keys", "create", "--scope", "everything").code == ExitCode.USAGE


def test_a_role_needs_somebody_who_has_it(cli: Cli) -> None:
    assert "--person" in cli("keys", "create", "--scope", "read", "--role", "support").err


def test_the_first_key_needs_the_address_of_redis(cli: Cli) -> None:
    ran = cli("keys", "create", "--bootstrap", "--scope", "admin")
    assert ran.code == ExitCode.ERROR
    assert "VARDY_REDIS_URL" in ran.err


def test_the_first_key_is_made_while_no_key_can_make_others(cli: Cli, world: ApiWorld) -> None:
    for key in cli("keys", "list", "--json").json["items"]:
        cli("keys", "revoke", key["id"], "--yes")
    world.token(Scope.SUBMIT)
    first = bootstrap_key(world.documents, world.clock, FIRST)
    assert cli("keys", "list", "--api-key", first.key).code == ExitCode.OK


def test_a_second_first_key_is_refused_by_name(world: ApiWorld) -> None:
    first = bootstrap_key(world.documents, world.clock, FIRST)
    with pytest.raises(CommandError, match=first.id) as refused:
        bootstrap_key(world.documents, world.clock, FIRST)
    assert refused.value.exit_code == ExitCode.CONFLICT
    assert len(world.documents.all("keys")) == 1


def test_an_expired_first_key_makes_room_for_another(world: ApiWorld) -> None:
    bootstrap_key(world.documents, world.clock, FIRST.model_copy(update={"expires_in_seconds": 60}))
    world.clock.forward(61)
    assert bootstrap_key(world.documents, world.clock, FIRST).key.startswith("vk_")


def test_a_key_has_ceilings_that_an_administrator_changes(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    words = ("--requests-per-minute", "120", "--jobs-max", "0", "--tokens-per-day", "1000000", "--cost-per-day", "2.5")
    made = cli("keys", "create", "--scope", "submit", "--name", "reports", *words, "--json").json
    assert made["quota"] == {
        "requests_per_minute": 120,
        "jobs_max": 0,
        "tokens_per_day": 1_000_000,
        "cost_usd_per_day": 2.5,
    }
    change = ("keys", "change", made["id"], "--requests-per-minute", "deployment", "--cost-per-day", "0")
    changed = cli(*change)
    assert "any number of jobs, 1,000,000 tokens a day, any cost" in " ".join(changed.out.split())
    assert "any number of jobs" in cli("keys", "list").out
    assert "1 job at once" in cli("keys", "change", made["id"], "--jobs-max", "1").out
    assert cli("keys", "change", made["id"]).code == ExitCode.USAGE
    assert cli("keys", "change", "key_none", "--jobs-max", "1").code == ExitCode.NOT_FOUND


@pytest.mark.parametrize("given", ["-1", "many", "nan", "inf"])
def test_a_ceiling_that_is_none_is_a_usage_error(cli: Cli, given: str) -> None:
    ran = cli("keys", "create", "--scope", "submit", "--name", "n", "--jobs-max", given)
    assert ran.code == ExitCode.USAGE
    assert "no ceiling" in " ".join(ran.err.split())


def test_a_ceiling_that_the_service_cannot_count_is_told_in_one_sentence(cli: Cli) -> None:
    ran = cli("keys", "create", "--scope", "submit", "--name", "n", "--requests-per-minute", "1.5", "--json")
    assert ran.code == ExitCode.USAGE
    assert "requests_per_minute" in ran.err


def test_what_a_key_and_a_person_use_is_a_table(cli: Cli, world: ApiWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    made = cli("keys", "create", "--scope", "submit", "--name", "n", "--jobs-max", "20", "--json").json
    cli("run", "refund it", "--user", "ana", "--no-wait", "--api-key", made["key"])
    shown = cli("keys", "usage", made["id"], "--user", "ana")
    rows = [line.split() for line in shown.out.splitlines()]
    assert ["key", made["id"], "6,000", "1", "of", "20", "0", "$0"] in rows
    assert ["user", "ana", "600", "1", "0", "$0"] in rows
    assert "The day ends in" in shown.out
    assert cli("keys", "usage", "--json").json["items"][0]["of"] == "key"
    assert world.store.used(QuotaOf.KEY, made["id"]).jobs == 1
