"""`vardy recipes export` and `import`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from vardy_api.cli.exits import CommandError, ExitCode
from vardy_api.cli.recipe_folder import remove_file, write_file
from vardy_api.client import Vardy
from vardy_api.client_errors import Unreachable
from vardy_worker.contracts.user import Scope
from vardy_worker.recipe_files import read_recipe_file

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.api import ApiWorld
    from tests.unit.cli.conftest import Cli
    from vardy_api.recipe_shapes import RecipeView

READS = "async function run(params) {\n  return await list_payments();\n}\n"
WRITES = "async function run(params) {\n  await refund_payment({payment_id: params.id});\n  return 1;\n}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "recipes"


def save(cli: Cli, name: str, source: str, *words: str) -> None:
    assert cli("recipes", "save", name, "--file", "-", "--reviewed-by", "lea", *words, stdin=source).code == ExitCode.OK


def write(folder: Path, name: str, source: str = READS, *lines: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.recipe.js"
    path.write_text("\n".join(["/*---", f"name: {name}", "reviewed_by: lea", *lines, "---*/", source]))
    return path


def states(ran: Any) -> dict[str, str]:
    return {item["recipe"]: item["state"] for item in ran.json["items"]}


# --- export ------------------------------------------------------------------------------------------


def test_recipes_are_exported_as_files_that_say_all_of_them(cli: Cli, folder: Path) -> None:
    save(cli, "payments", READS, "--description", "All payments.")
    save(cli, "refund", WRITES)
    ran = cli("recipes", "export", "--all", "--to", str(folder))
    assert ran.code == ExitCode.OK
    assert "payments  version 1" in ran.out
    assert sorted(path.name for path in folder.iterdir()) == ["payments.recipe.js", "refund.recipe.js"]
    text = (folder / "payments.recipe.js").read_text()
    assert text.endswith("---*/\n" + READS)
    read = read_recipe_file(text).recipe
    assert (read.description, read.reviewed_by, read.functions) == ("All payments.", "lea", {"list_payments": "v1"})


def test_an_export_writes_nothing_twice(cli: Cli, folder: Path) -> None:
    save(cli, "payments", READS)
    words = ("recipes", "export", "payments", "--to", str(folder), "--json")
    assert [item["state"] for item in cli(*words).json["items"]] == ["new"]
    written = (folder / "payments.recipe.js").stat().st_ino
    assert [item["state"] for item in cli(*words).json["items"]] == ["unchanged"]
    assert (folder / "payments.recipe.js").stat().st_ino == written


def test_a_file_with_other_content_is_overwritten_only_after_a_confirmation(cli: Cli, folder: Path) -> None:
    save(cli, "payments", READS)
    save(cli, "refund", WRITES)
    path = write(folder, "payments", "async function run() { return 1; }")
    mine = path.read_text()
    words = ("recipes", "export", "--all", "--to", str(folder))
    refused = cli(*words)
    assert refused.code == ExitCode.CONFIRMATION_NEEDED
    assert str(path) in refused.err
    assert (path.read_text(), (folder / "refund.recipe.js").exists()) == (mine, False)
    assert "Dry run: nothing was written." in cli(*words, "--dry-run").out
    assert path.read_text() == mine
    assert cli(*words, "--yes").code == ExitCode.OK
    assert READS in path.read_text()


def test_whoever_reads_a_file_while_it_is_overwritten_has_the_whole_old_one(cli: Cli, folder: Path) -> None:
    save(cli, "payments", READS)
    path = write(folder, "payments", "async function run() { return 1; }")
    before = path.read_text()
    with path.open() as reader:
        assert cli("recipes", "export", "payments", "--to", str(folder), "--yes").code == ExitCode.OK
        assert reader.read() == before
    assert path.read_text() != before


def test_files_of_deleted_recipes_stay_unless_they_are_pruned(cli: Cli, folder: Path) -> None:
    save(cli, "payments", READS)
    save(cli, "refund", WRITES)
    words = ("recipes", "export", "--all", "--to", str(folder))
    cli(*words)
    (folder / "notes.recipe.js").write_text("// not a recipe\n")
    write(folder, "not-imported-yet")
    cli("recipes", "delete", "refund", "--yes")
    assert cli(*words).code == ExitCode.OK
    assert (folder / "refund.recipe.js").exists()
    assert cli(*words, "--prune").code == ExitCode.CONFIRMATION_NEEDED
    pruned = cli(*words, "--prune", "--yes", "--json").json["items"]
    assert [(item["recipe"], item["state"]) for item in pruned] == [("payments", "unchanged"), (None, "removed")]
    left = ["not-imported-yet.recipe.js", "notes.recipe.js", "payments.recipe.js"]
    assert sorted(path.name for path in folder.iterdir()) == left


def test_one_recipe_is_printed_exactly(cli: Cli) -> None:
    source = 'async function run() { return "\u202e"; }'
    save(cli, "payments", source)
    printed = cli("recipes", "export", "payments", "--to", "-").out
    assert read_recipe_file(printed).recipe.source == source
    assert cli("recipes", "export", "payments", "--to", "-", "--json").json["text"] == printed
    save(cli, "refund", WRITES)
    assert cli("recipes", "export", "--all", "--to", "-").code == ExitCode.USAGE


def test_an_export_that_makes_no_sense_is_refused(cli: Cli, folder: Path) -> None:
    save(cli, "payments", READS)
    for words in ((), ("payments", "--all"), ("payments", "--prune"), ("--all", "--prune", "--to", "-")):
        assert cli("recipes", "export", *words).code == ExitCode.USAGE
    assert cli("recipes", "export", "nothing", "--to", str(folder)).code == ExitCode.NOT_FOUND
    folder.write_text("a file in the way")
    blocked = cli("recipes", "export", "payments", "--to", str(folder), "--json")
    assert blocked.code != ExitCode.OK
    assert str(folder) in blocked.problem["detail"]


# --- import ------------------------------------------------------------------------------------------


def test_what_was_exported_and_edited_is_imported_as_a_new_version(cli: Cli, folder: Path) -> None:
    save(cli, "payments", READS, "--description", "All payments.")
    cli("recipes", "export", "--all", "--to", str(folder))
    again = cli("recipes", "import", str(folder), "--json")
    assert (again.code, states(again)) == (ExitCode.OK, {"payments": "unchanged"})
    path = folder / "payments.recipe.js"
    edited = path.read_text().replace("All payments.", "Every payment.").replace("return await", "return  await")
    path.write_text(edited)
    ran = cli("recipes", "import", str(path), "--json")
    (item,) = ran.json["items"]
    assert (ran.code, item["state"], item["version"], item["saved"]) == (ExitCode.OK, "changed", 2, True)
    assert "-description: All payments.\n+description: Every payment." in item["difference"]
    view = cli("recipes", "show", "payments", "--json").json
    assert (view["description"], view["source"]) == ("Every payment.", READS.replace("return await", "return  await"))


def test_a_dry_run_shows_what_an_import_would_change(cli: Cli, folder: Path) -> None:
    save(cli, "payments", READS)
    write(folder, "payments", READS.replace("await", "await  "))
    write(folder, "refund", WRITES)
    ran = cli("recipes", "import", str(folder), "--dry-run")
    assert ran.code == ExitCode.OK
    assert "+  return await   list_payments();" in ran.out
    assert "Dry run: nothing was saved. 2 files: 1 new, 1 changed." in ran.out
    assert [view["version"] for view in cli("recipes", "list", "--json").json["items"]] == [1]


def test_several_recipes_are_saved_only_after_a_confirmation(cli: Cli, folder: Path) -> None:
    write(folder, "payments")
    write(folder, "refund", WRITES)
    assert cli("recipes", "import", str(folder)).code == ExitCode.CONFIRMATION_NEEDED
    assert cli("recipes", "list", "--json").json["items"] == []
    assert "Saved 2 recipes of 2 files (2 new)." in cli("recipes", "import", str(folder), "--yes").out


def test_one_file_that_is_not_valid_keeps_all_from_being_saved(cli: Cli, folder: Path) -> None:
    write(folder, "payments")
    broken = write(folder, "refund", "async function run(params) {\n  return await list_paymentz();\n}\n")
    odd = write(folder, "odd", READS, "judge: no")
    ran = cli("recipes", "import", str(folder), "--yes")
    assert ran.code == ExitCode.ERROR
    assert f"{broken}:6:16: error:" in ran.out
    assert "list_payments" in ran.out
    assert f"{odd}:4:8: error: `no` is a truth value" in ran.out
    assert "2 of 3 files not valid; nothing was saved." in ran.err
    assert cli("recipes", "list", "--json").json["items"] == []
    as_json = cli("recipes", "import", str(folder), "--dry-run", "--json")
    assert (as_json.code, as_json.json["valid"]) == (ExitCode.ERROR, False)
    assert states(as_json) == {"payments": "new", "refund": "invalid", "": "invalid"}


def test_findings_of_the_service_are_told_at_the_line_of_the_file(cli: Cli, folder: Path) -> None:
    path = write(
        folder,
        "refund",
        WRITES,
        "params_schema:",
        "  type: array",
        "envelope:",
        "  functions:",
        "    refund_paymnt: {effects_max: 1}",
        "functions:",
        "  refund_payment: v0",
    )
    ran = cli("recipes", "import", str(path), "--json")
    found = [(finding["line"], finding["message"]) for finding in ran.json["items"][0]["findings"]]
    assert [line for line, _ in found] == [4, 8, 10]
    assert "v0" in found[2][1]
    large = write(folder, "large", f"async function run() {{ return '{'x' * 70_000}'; }}")
    (item,) = cli("recipes", "import", str(large), "--json").json["items"]
    assert item["state"] == "invalid"


def test_a_file_says_that_it_was_reviewed_against_the_functions_as_they_are(
    cli: Cli, world: ApiWorld, folder: Path
) -> None:
    save(cli, "payments", READS)
    world.change_function("list_payments")
    path = write(folder, "payments")
    ran = cli("recipes", "import", str(path))
    assert "unchanged" in ran.out
    assert "vardy recipes review payments" in ran.out
    assert cli("recipes", "show", "payments", "--json").json["needs_review"] is True
    write(folder, "payments", READS.replace("return", "return  "))
    (changed,) = cli("recipes", "import", str(path), "--dry-run", "--json").json["items"]
    assert (changed["state"], changed["needs_review"]) == ("changed", False), "to save it is to review it"
    write(folder, "payments", READS, "functions:", "  list_payments: v1")
    assert cli("recipes", "import", str(path)).code == ExitCode.ERROR
    write(folder, "payments", READS, "functions:", "  list_payments: v1-changed")
    assert states(cli("recipes", "import", str(path), "--json")) == {"payments": "reviewed"}
    assert cli("recipes", "show", "payments", "--json").json["needs_review"] is False


def test_a_link_that_leads_nowhere_is_told_and_nothing_is_saved(cli: Cli, folder: Path) -> None:
    write(folder, "payments")
    (folder / "folder.recipe.js").mkdir()
    assert states(cli("recipes", "import", str(folder), "--dry-run", "--json")) == {"payments": "new"}
    (folder / "refund.recipe.js").symlink_to(folder / "moved.recipe.js")
    ran = cli("recipes", "import", str(folder))
    assert (ran.code, "refund.recipe.js" in ran.err) == (ExitCode.USAGE, True)
    assert cli("recipes", "show", "payments").code == ExitCode.NOT_FOUND


def test_a_recipe_in_two_files_is_refused(cli: Cli, folder: Path) -> None:
    path = write(folder, "payments")
    (folder / "copy.js").write_text(path.read_text())
    ran = cli("recipes", "import", str(path), str(folder / "copy.js"))
    assert ran.code == ExitCode.ERROR
    assert f"copy.js:2:1: error: the recipe payments is in {path} too" in ran.out


def test_a_file_named_like_another_recipe_is_refused(cli: Cli, folder: Path) -> None:
    path = write(folder, "payments").rename(folder / "refund.recipe.js")
    ran = cli("recipes", "import", str(path))
    assert ran.code == ExitCode.ERROR
    assert ":2:1: error: the recipe is named `payments`" in ran.out


def test_a_file_comes_from_standard_input(cli: Cli, folder: Path) -> None:
    text = write(folder, "payments").read_text()
    ran = cli("recipes", "import", "-", "--reviewed-by", "mia", "--json", stdin=text)
    assert ran.json["items"][0]["file"] == "<stdin>"
    assert cli("recipes", "show", "payments", "--json").json["reviewed_by"] == "mia"


def test_a_file_that_cannot_be_read_is_told(cli: Cli, folder: Path) -> None:
    folder.mkdir()
    assert "There is no file named *.recipe.js" in cli("recipes", "import", str(folder)).err
    assert cli("recipes", "import", str(folder / "x.recipe.js")).code == ExitCode.USAGE
    nameless = cli("recipes", "import", "", "--yes")
    assert (nameless.code, "is empty" in nameless.err) == (ExitCode.USAGE, True)
    (folder / "x.recipe.js").write_bytes(b"/*---\nname: x\n\xff")
    assert ":3:1: error: the file is not a text in UTF-8" in cli("recipes", "import", str(folder)).out


def test_a_save_that_fails_stops_no_other(cli: Cli, world: ApiWorld, folder: Path, monkeypatch: Any) -> None:
    write(folder, "payments")
    write(folder, "refund", WRITES)
    put = world.documents.put

    def put_after_somebody_else(collection: str, name: str, *args: Any, **kwargs: Any) -> Any:
        if (collection, name) == ("recipes", "payments"):
            monkeypatch.undo()
            save(cli, "payments", READS.replace("return", "return  "))
        return put(collection, name, *args, **kwargs)

    monkeypatch.setattr(world.documents, "put", put_after_somebody_else)
    ran = cli("recipes", "import", str(folder), "--yes", "--json")
    assert ran.code == ExitCode.BULK_FAILED
    failed, saved = ran.json["items"]
    assert (failed["recipe"], failed["saved"], failed["error"]["code"]) == ("payments", False, "recipe.conflict")
    assert (saved["recipe"], saved["saved"], saved["version"]) == ("refund", True, 1)
    assert "1 of 2 recipes could not be saved" in ran.problem["detail"]
    assert cli("recipes", "import", str(folder), "--yes").code == ExitCode.OK


def test_what_somebody_deleted_and_saved_anew_is_not_saved_over(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(cli, "payments", READS)
    path = write(folder, "payments", READS.replace("return", "return  "))
    compared = Vardy.recipe

    def replaced_afterwards(client: Vardy, name: str, **values: Any) -> RecipeView:
        view = compared(client, name, **values)
        client.delete_recipe(name)
        client.save_recipe(name, source=WRITES, reviewed_by="mia")
        return view

    monkeypatch.setattr(Vardy, "recipe", replaced_afterwards)
    assert cli("recipes", "import", str(path)).code == ExitCode.CONFLICT
    monkeypatch.undo()
    assert cli("recipes", "show", "payments", "--json").json["source"] == WRITES


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (KeyboardInterrupt(), ExitCode.INTERRUPTED, "1 of 2 recipes saved"),
        (Unreachable("No answer."), ExitCode.BULK_FAILED, "1 of 2 recipes could not be saved"),
    ],
    ids=["interrupted", "unreachable"],
)
def test_what_was_saved_is_told_when_an_import_is_cut_short(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: ExitCode, told: str
) -> None:
    write(folder, "payments")
    write(folder, "refund", WRITES)
    real = Vardy.save_recipe

    def saves_only_payments(client: Vardy, name: str, **values: Any) -> RecipeView:
        if name == "refund" and not values["dry_run"]:
            raise error
        return real(client, name, **values)

    monkeypatch.setattr(Vardy, "save_recipe", saves_only_payments)
    ran = cli("recipes", "import", str(folder), "--yes", "--json")
    assert ran.code == code
    assert [item["saved"] for item in ran.json["items"]] == [True, False]
    assert told in ran.problem["detail"]
    monkeypatch.undo()
    again = cli("recipes", "import", str(folder), "--yes", "--json")
    assert states(again) == {"payments": "unchanged", "refund": "new"}


def test_a_service_that_went_away_is_not_asked_for_each_recipe_that_is_left(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("first", "second", "third"):
        write(folder, name)
    real, sent = Vardy.save_recipe, []

    def goes_away_after_the_first(client: Vardy, name: str, **values: Any) -> RecipeView:
        if not values["dry_run"]:
            sent.append(name)
            if name != "first":
                raise Unreachable("No answer.")
        return real(client, name, **values)

    monkeypatch.setattr(Vardy, "save_recipe", goes_away_after_the_first)
    ran = cli("recipes", "import", str(folder), "--yes", "--json")
    assert sent == ["first", "second"]
    assert [item["error"] is None for item in ran.json["items"]] == [True, False, False]


def test_keys_in_another_order_are_no_change(cli: Cli, folder: Path) -> None:
    path = write(folder, "payments", READS, "params_schema: {type: object, additionalProperties: false}")
    cli("recipes", "import", str(path))
    write(folder, "payments", READS, "params_schema: {additionalProperties: false, type: object}")
    (item,) = cli("recipes", "import", str(path), "--json").json["items"]
    assert (item["state"], item["difference"]) == ("unchanged", "")


def test_a_key_that_may_not_save_may_check(cli: Cli, world: ApiWorld, folder: Path) -> None:
    path = write(folder, "payments")
    cli.token = world.token(Scope.READ)
    assert states(cli("recipes", "import", str(path), "--dry-run", "--json")) == {"payments": "new"}
    refused = cli("recipes", "import", str(path), "--json")
    assert (refused.code, refused.problem["code"]) == (ExitCode.ERROR, "auth.scope")


def test_a_reviewer_with_too_long_a_name_is_told_at_the_line(cli: Cli, folder: Path) -> None:
    path = write(folder, "payments")
    path.write_text(path.read_text().replace("reviewed_by: lea", f"reviewed_by: {'l' * 201}"))
    (item,) = cli("recipes", "import", str(path), "--json").json["items"]
    assert [(finding["line"], "200" in finding["message"]) for finding in item["findings"]] == [(3, True)]


def test_a_file_that_cannot_be_changed_is_told_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(CommandError, match="cannot be written"):
        write_file(tmp_path / "taken" / "a.recipe.js", "text")
    with pytest.raises(CommandError, match="cannot be removed"):
        remove_file(tmp_path / "none.recipe.js")
    (tmp_path / "folder").mkdir()
    with pytest.raises(CommandError, match="cannot be written"):
        write_file(tmp_path / "folder", "text")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "taken"]
