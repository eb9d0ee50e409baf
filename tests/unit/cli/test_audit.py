"""`vardy audit`."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.audit import note
from vardy_api.cli.exits import ExitCode
from vardy_worker.contracts.audit import Action
from vardy_worker.contracts.audit_chain import dump_entry, entry_hash, parse_entry
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import Scope
from vardy_worker.ports import Change

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.api import ApiWorld
    from tests.unit.cli.conftest import Cli


def noted(world: ApiWorld, number: int = 1, **fields: Any) -> str:
    """A job with so many entries; its id."""
    job = world.job(Status.PENDING_APPROVAL)
    more(world, job.id, number, **fields)
    return job.id


def more(world: ApiWorld, job_id: str, number: int = 1, **fields: Any) -> None:
    for _ in range(number):
        made = note(at_ms=world.clock.now_ms(), **fields)
        world.store.change(Change(job_id, frozenset(Status), audit=[made]))


def rewrite(world: ApiWorld, chain: str, **change: str) -> None:
    """What somebody does who can write to the store: the whole chain anew, with hashes that fit."""
    lines = world.trail._chains[chain]
    prev = ""
    for at, line in enumerate(lines):
        fields = {**(parse_entry(line) or {}), **change, "prev": prev}
        fields["hash"] = prev = entry_hash(fields)
        lines[at] = dump_entry(fields)
    world.trail._heads[chain] = type(world.trail._heads[chain])(len(lines), prev)


def cut_off(world: ApiWorld, chain: str, left: int) -> None:
    """The same, with the newest entries gone."""
    del world.trail._chains[chain][left:]
    if left:
        rewrite(world, chain)
    else:
        for kept in (world.trail._chains, world.trail._heads):
            kept.pop(chain)


# --- list ---------------------------------------------------------------------------------------


def test_entries_are_listed_with_who_did_what_and_why(cli: Cli, world: ApiWorld) -> None:
    job = noted(world, reason="Looks\x1b[2J right.", details={"effects": 3})
    ran = cli("audit", "list", "--job", job)
    assert ran.code == ExitCode.OK
    [head, line] = ran.out.splitlines()
    assert head.split() == ["TIME", "BY", "ACTION", "ABOUT", "STATUS", "WHAT"]
    for part in ("2023-11-14", "lea", "decision.approve", job, "PENDING_APPROVAL", "effects 3", "10.1.2.3"):
        assert part in line
    assert "Looks\\u001b[2J right." in line
    assert cli("audit", "list", "--job", "job_none").out == "Nothing was noted that matches.\n"


def test_a_listing_is_narrowed_and_gone_on_with(cli: Cli, world: ApiWorld) -> None:
    job = noted(world, 5)
    noted(world, by="leo", action=Action.DECISION_DENY)
    first = cli("audit", "list", "--job", job, "--limit", "2", "--json").json
    assert [item["n"] for item in first["items"]] == [5, 4]
    rest = cli("audit", "list", "--job", job, "--cursor", first["next"], "--all", "--json").json
    assert ([item["n"] for item in rest["items"]], rest["next"]) == ([3, 2, 1], None)
    assert len(cli("audit", "list", "--by", "leo", "--json").json["items"]) == 1
    assert len(cli("audit", "list", "--action", "decision.deny", "--json").json["items"]) == 1
    assert cli("audit", "list", "--after", "1h", "--json").json["items"] == []
    assert len(cli("audit", "list", "--before", "1h", "--json").json["items"]) == 7
    assert "--cursor" in cli("audit", "list", "--limit", "1").out
    assert len(cli("audit", "list", "--chain", "settings", "--json").json["items"]) == 1


@pytest.mark.parametrize(
    "words", [("list", "--action", "job.eaten"), ("list", "--job", "a", "--chain", "b"), ("list", "--after", "noon")]
)
def test_a_wrong_filter_is_a_usage_error(cli: Cli, words: tuple[str, ...]) -> None:
    assert cli("audit", *words).code == ExitCode.USAGE


def test_an_action_is_listed_when_a_wrong_one_was_given(cli: Cli) -> None:
    assert "effect.resolved" in cli("audit", "list", "--action", "job.eaten").err


def test_the_trail_needs_a_scope(cli: Cli, world: ApiWorld) -> None:
    ran = cli("audit", "list", "--api-key", world.token(Scope.SUBMIT), "--json")
    assert (ran.code, ran.problem["code"]) == (ExitCode.ERROR, "auth.scope")


def test_what_the_command_line_does_is_noted_as_its_own(cli: Cli) -> None:
    made = cli("keys", "create", "--scope", "read", "--name", "n", "--json").json
    [entry, *_] = cli("audit", "list", "--chain", "settings", "--json").json["items"]
    assert (entry["subject"], entry["via"], entry["by"]) == (made["id"], "cli", "shop")


# --- verify -------------------------------------------------------------------------------------


def test_a_trail_that_holds_is_said_to(cli: Cli, world: ApiWorld) -> None:
    job = noted(world, 3)
    ran = cli("audit", "verify")
    assert (ran.code, ran.out) == (ExitCode.OK, "4 entries in 2 chains, unbroken.\n")
    found = cli("audit", "verify", "--json").json
    assert (found["ok"], found["source"], found["entries"], found["broken"]) == (True, "live", 4, [])
    assert cli("audit", "verify", "--chain", job).out == "3 entries in 1 chain, unbroken.\n"
    assert cli("audit", "verify", "--chain", "job_none").code == ExitCode.NOT_FOUND


def test_a_broken_chain_is_named_with_its_first_wrong_entry(cli: Cli, world: ApiWorld) -> None:
    noted(world, 2)
    job = noted(world, 3)
    lines = world.trail._chains[job]
    lines[1] = lines[1].replace(b'"lea"', b'"leo"')
    ran = cli("audit", "verify")
    assert ran.code == ExitCode.ERROR
    assert re.search(rf"{job}: Entry 2: it was changed", ran.out)
    assert "does not hold" in ran.err
    told = cli("audit", "verify", "--json")
    assert (told.code, told.json["ok"]) == (ExitCode.ERROR, False)
    [broken] = told.json["broken"]
    assert (broken["chain"], broken["n"]) == (job, 2)
    assert told.problem["code"] == "audit.broken"


def test_an_erased_text_is_counted_and_breaks_nothing(cli: Cli, world: ApiWorld) -> None:
    job = noted(world, reason="About a person.")
    fields = parse_entry(world.trail._chains[job][0]) or {}
    world.trail._chains[job][0] = dump_entry({**fields, "text": None})
    ran = cli("audit", "verify")
    assert (ran.code, "1 with their text erased" in ran.out) == (ExitCode.OK, True)
    assert "(text erased)" in cli("audit", "list", "--job", job).out


# --- export, and checks of exports ----------------------------------------------------------------


def test_an_export_goes_to_standard_output_line_by_line(cli: Cli, world: ApiWorld) -> None:
    noted(world, 3)
    whole = cli("audit", "export")
    found = [json.loads(line) for line in whole.out.splitlines()]
    assert (whole.code, len(found)) == (ExitCode.OK, 4)
    after = cli("audit", "export", "--after", found[1]["place"], "--json")
    assert [json.loads(line) for line in after.out.splitlines()] == found[2:]


def test_an_export_is_longer_than_one_answer(cli: Cli, world: ApiWorld, tmp_path: Path) -> None:
    noted(world, 1100)
    file = str(tmp_path / "audit.jsonl")
    assert cli("audit", "export", "--to", file, "--json").json["entries"] == 1101
    assert cli("audit", "verify", "--file", file).out == "1101 entries in 2 chains, unbroken.\n"
    assert len(cli("audit", "list", "--all", "--json").json["items"]) == 1101


def test_an_export_goes_on_where_the_file_ends_even_in_the_middle_of_a_line(
    cli: Cli, world: ApiWorld, tmp_path: Path
) -> None:
    job = noted(world, 3)
    file = tmp_path / "audit.jsonl"
    assert cli("audit", "export", "--to", str(file), "--append").out == f"4 lines written to {file}.\n"
    assert cli("audit", "export", "--to", str(file)).code == ExitCode.USAGE
    assert cli("audit", "export", "--to", str(file), "--append").out == f"Nothing new for {file}.\n"
    whole = file.read_bytes()
    file.write_bytes(whole[:-20])
    more(world, job, 2)
    assert cli("audit", "export", "--to", str(file), "--append", "--json").json["entries"] == 3
    assert file.read_bytes().startswith(whole)
    assert cli("audit", "verify", "--file", str(file), "--json").json["entries"] == 6


def test_an_export_that_is_refused_leaves_no_file_in_the_way_of_the_next(
    cli: Cli, world: ApiWorld, tmp_path: Path
) -> None:
    noted(world, 3)
    file = tmp_path / "audit.jsonl"
    cli.token, admin = world.token(Scope.SUBMIT), cli.token
    assert cli("audit", "export", "--to", str(file)).code == ExitCode.ERROR
    cli.token = admin
    assert cli("audit", "export", "--to", str(file)).code == ExitCode.OK


def test_a_file_that_is_no_export_is_not_gone_on_with(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    for text in ("Buy milk.\nAnd bread.\n", "Buy milk."):
        file.write_text(text)
        ran = cli("audit", "export", "--to", str(file), "--append")
        assert (ran.code, file.read_text()) == (ExitCode.USAGE, text)


def test_a_file_is_checked_without_the_service(cli: Cli, world: ApiWorld, tmp_path: Path) -> None:
    job = noted(world, 3)
    file = tmp_path / "audit.jsonl"
    cli("audit", "export", "--to", str(file))

    def refuse(_url: str | None, _key: str | None) -> Any:
        raise AssertionError

    cli.connect = refuse
    assert cli("audit", "verify", "--file", str(file)).code == ExitCode.OK
    file.write_bytes(file.read_bytes().replace(b'"n":2', b'"n":7') + b"not an entry\n")
    ran = cli("audit", "verify", "--file", str(file), "--json")
    assert ran.code == ExitCode.ERROR
    assert [(one["chain"], one["n"]) for one in ran.json["broken"]] == [(job, 2), ("", 0)]
    assert "Line 5" in ran.json["broken"][1]["message"]
    assert cli("audit", "verify", "--file", str(tmp_path / "none")).code == ExitCode.USAGE
    file.write_bytes(b"")
    for option in ("--file", "--against"):
        ran = cli("audit", "verify", option, str(file))
        assert (ran.code, "has no entries" in ran.err) == (ExitCode.USAGE, True)


def exported(cli: Cli, file: Path) -> str:
    assert cli("audit", "export", "--to", str(file)).code == ExitCode.OK
    return str(file)


def test_a_trail_that_only_grew_holds_what_was_exported(cli: Cli, world: ApiWorld, tmp_path: Path) -> None:
    jobs = [noted(world, 2), noted(world, 2)]
    earlier = exported(cli, tmp_path / "earlier.jsonl")
    more(world, jobs[0], 3)
    noted(world)
    ran = cli("audit", "verify", "--against", earlier)
    assert (ran.code, ran.out) == (ExitCode.OK, f"9 entries in 4 chains, and hold what {earlier} has.\n")
    later = exported(cli, tmp_path / "later.jsonl")
    assert cli("audit", "verify", "--file", later, "--against", earlier).code == ExitCode.OK
    assert cli("audit", "verify", "--file", earlier, "--against", later).code == ExitCode.ERROR


def test_a_chain_that_was_written_anew_is_named(cli: Cli, world: ApiWorld, tmp_path: Path) -> None:
    noted(world, 2)
    job = noted(world, 3)
    earlier = exported(cli, tmp_path / "earlier.jsonl")
    rewrite(world, job, by="leo")
    assert cli("audit", "verify").code == ExitCode.OK
    ran = cli("audit", "verify", "--against", earlier, "--json")
    assert ran.code == ExitCode.ERROR
    [broken] = ran.json["broken"]
    assert (broken["chain"], broken["n"], "written anew" in broken["message"]) == (job, 3, True)


@pytest.mark.parametrize("left", [0, 2])
def test_a_chain_that_was_cut_off_is_named(cli: Cli, world: ApiWorld, tmp_path: Path, left: int) -> None:
    noted(world, 2)
    job = noted(world, 3)
    earlier = exported(cli, tmp_path / "earlier.jsonl")
    cut_off(world, job, left)
    assert cli("audit", "verify").code == ExitCode.OK
    ran = cli("audit", "verify", "--against", earlier)
    assert ran.code == ExitCode.ERROR
    assert f"{job}: Entry 3: it was exported and is gone" in ran.out


def test_what_was_trimmed_by_age_is_no_fault(cli: Cli, world: ApiWorld, tmp_path: Path) -> None:
    gone, cut = noted(world, 2), noted(world, 2)
    earlier = exported(cli, tmp_path / "earlier.jsonl")
    world.store.change(Change(gone, frozenset(Status), retain_seconds=60))
    keep_seconds = world.settings.audit_retention_seconds
    world.clock.forward(keep_seconds + 86_400)
    more(world, cut)
    world.trail.trim(older_than_ms=keep_seconds * 1000, limit=100)
    ran = cli("audit", "verify", "--against", earlier)
    assert (ran.code, ran.out) == (ExitCode.OK, f"1 entry in 2 chains, and hold what {earlier} has.\n")


def test_a_trail_that_calls_young_entries_trimmed_is_not_believed(cli: Cli, world: ApiWorld, tmp_path: Path) -> None:
    noted(world, 2)
    job = noted(world, 3)
    earlier = exported(cli, tmp_path / "earlier.jsonl")
    cut_off(world, job, 0)
    world.trail._trimmed_before_ms = world.clock.now_ms() + 10**9
    ran = cli("audit", "verify", "--against", earlier)
    assert ran.code == ExitCode.ERROR
    assert f"{job}: Entry 3: it was exported and is gone, though it is too young to be trimmed" in ran.out


def test_an_earlier_export_that_does_not_hold_itself_is_refused(cli: Cli, world: ApiWorld, tmp_path: Path) -> None:
    noted(world, 2)
    file = tmp_path / "earlier.jsonl"
    exported(cli, file)
    file.write_bytes(file.read_bytes().replace(b'"n":2', b'"n":3'))
    ran = cli("audit", "verify", "--against", str(file), "--json")
    assert (ran.code, ran.problem["code"]) == (ExitCode.ERROR, "audit.broken")
    assert "earlier export" in ran.problem["detail"]


@pytest.mark.parametrize(
    "words",
    [
        ("verify", "--chain", "settings", "--file", "x"),
        ("export", "--append"),
        ("export", "--to", "x", "--after", "1-0"),
    ],
)
def test_options_that_do_not_go_together_are_refused(cli: Cli, words: tuple[str, ...]) -> None:
    assert cli("audit", *words).code == ExitCode.USAGE
