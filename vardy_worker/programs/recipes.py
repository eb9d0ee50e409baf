"""A recipe as somebody wrote it, made into one that is validated and pinned, or refused with every reason."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic import ValidationError

from vardy_worker.contracts.base import make_pointer
from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.recipe import Recipe
from vardy_worker.programs.checking import check, functions_called
from vardy_worker.programs.params_schemas import params_schema_problem
from vardy_worker.rules.envelope_check import envelope_problems

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from vardy_worker.contracts.base import JsonObject
    from vardy_worker.contracts.envelope import Envelope
    from vardy_worker.contracts.functions import Catalogue, FunctionSpec
    from vardy_worker.contracts.program import Finding

_HIDDEN_LINE_END = re.compile("[\u2028\u2029]|\r(?!\n)")
NAME_MESSAGE = "A recipe's name begins with a small letter and has small letters, digits and hyphens, at most 63."
_VERSION_SHOWN = 12


@dataclass(frozen=True, slots=True)
class RecipeDraft:
    """What somebody wants to save. `functions` are the versions it was reviewed against, where that is known."""

    name: str
    source: str
    description: str = ""
    params_schema: JsonObject = field(default_factory=lambda: {"type": "object"})
    judge: bool = False
    envelope: Envelope | None = None
    functions: Mapping[str, str] | None = None
    from_job: str | None = None


def make_recipe(
    draft: RecipeDraft, catalogue: Catalogue, *, program_bytes_max: int, reviewed_by: str, now_ms: int
) -> tuple[Recipe, tuple[Finding, ...]]:
    """The recipe, pinned to the present versions of the functions it calls, and the warnings of its program.

    Raises `RequestError`: `request.invalid` for the name and other fields of the wrong form, `recipe.invalid`
    with all other problems; each with a JSON Pointer, and those of the program with line and column.
    """
    size = len(draft.source.encode("utf-8", "surrogatepass"))
    if size > program_bytes_max:
        # Not checked any further: the limit is what keeps the checks quick.
        message = f"The program has {size} bytes; at most {program_bytes_max} are allowed."
        problem = {"at": "/source", "message": message, "limit": "program_bytes_max", "value": size}
        raise _invalid([problem])
    findings = check(draft.source, catalogue, judge=draft.judge)
    called = _called(draft.source, catalogue)
    problems = [*_problems(draft, findings, called)]
    if problems:
        raise _invalid(problems)
    try:
        recipe = Recipe(
            name=draft.name,
            description=draft.description,
            source=draft.source,
            params_schema=draft.params_schema,
            functions={name: spec.version for name, spec in called.items()},
            judge=draft.judge,
            envelope=draft.envelope,
            reviewed_by=reviewed_by,
            reviewed_at_ms=now_ms,
            from_job=draft.from_job,
        )
    except ValidationError as error:
        problems = [_wrong_field(str(part["loc"][0]), part["msg"]) for part in error.errors()]
        raise RequestError(str(problems[0]["message"]), details={"problems": problems}) from error
    return recipe, findings


def _wrong_field(name: str, message: str) -> JsonObject:
    return {"at": make_pointer((name,)), "message": NAME_MESSAGE if name == "name" else f"`{name}`: {message}"}


def _called(source: str, catalogue: Catalogue) -> dict[str, FunctionSpec]:
    specs = {spec.name: spec for spec in catalogue.functions}
    return {name: specs[name] for name in functions_called(source, catalogue)}


def _problems(
    draft: RecipeDraft, findings: tuple[Finding, ...], called: Mapping[str, FunctionSpec]
) -> Iterator[JsonObject]:
    yield from _hidden_line_end(draft.source)
    for finding in findings:
        if finding.severity == "error":
            yield {"at": "/source", **finding.model_dump(mode="json"), **_hint(finding)}
    if message := params_schema_problem(draft.params_schema):
        yield {"at": "/params_schema", "message": message}
    if draft.envelope is not None:
        yield from envelope_problems(draft.envelope, tuple(called.values()))
    for name, version in (draft.functions or {}).items():
        present = called.get(name)
        if present is None:
            message = f"The program does not call `{name}`."
        elif present.version != version:
            message = (
                f"`{name}` has version {present.version[:_VERSION_SHOWN]} now; the recipe was reviewed against "
                f"{version[:_VERSION_SHOWN]}. Review the saved recipe and export it, or take this version out "
                "if the program was reviewed with the function as it is now."
            )
        else:
            continue
        yield {"at": make_pointer(("functions", name)), "message": message}


def _hidden_line_end(source: str) -> Iterator[JsonObject]:
    """The first line end of JavaScript that editors do not show: what follows it could be read as a comment."""
    if found := _HIDDEN_LINE_END.search(source):
        before = source[: found.start()]
        yield {
            "at": "/source",
            "line": before.count("\n") + 1,
            "column": found.start() - before.rfind("\n"),
            "message": f"U+{ord(found[0]):04X} stands here, a line end that editors do not show.",
            "hint": "Write a line feed; in a text, write an escape.",
            "code": "program.syntax",
        }


def _hint(finding: Finding) -> JsonObject:
    if finding.code != "program.judge_off":
        return {}
    return {"hint": "Save the recipe with `judge` on, or decide in code."}


def _invalid(problems: list[JsonObject]) -> RequestError:
    first, more = problems[0], len(problems) - 1
    where = (
        f"The program does not validate: line {first['line']}, column {first['column']}: " if "line" in first else ""
    )
    rest = f" ({more} more problem{'s' if more > 1 else ''})" if more else ""
    return RequestError(f"{where}{first['message']}{rest}", code="recipe.invalid", details={"problems": problems})
