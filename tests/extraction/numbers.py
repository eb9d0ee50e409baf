"""The numbers of docs/extraction.md: how many answers of each class give what was meant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.extraction.cases import KINDS, Case
from tests.extraction.mutations import (
    AROUND,
    BODIES,
    CALLS,
    CONTAINERS,
    ENDINGS,
    INDENT_IS_DATA,
    INDENTS,
    LABELS,
    NESTS,
    PARAMS,
    SHAPES,
    is_intact,
)
from vardy_worker.contracts.program import Extracted, NoProgram
from vardy_worker.programs import check, extract

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from vardy_worker.contracts.functions import Catalogue

    Run = Callable[[str, dict[str, Any]], Any]
    Mutations = Mapping[str, Callable[[str], str]]

PROGRAM_BYTES_MAX = 65_536


@dataclass(frozen=True)
class Answer:
    """What a model wrote, and what must become of it: the output of its program, or a code."""

    text: str
    output: Any = None
    code: str = ""
    finish_reason: str = "stop"


class Judge:
    """Says whether an answer gives what was meant, in the real sandbox."""

    def __init__(self, catalogue: Catalogue, run: Run) -> None:
        self._catalogue = catalogue
        self._run = run

    def case(self, case: Case) -> bool:
        result = extract(case.text, finish_reason=case.finish_reason, program_bytes_max=PROGRAM_BYTES_MAX)
        if isinstance(result, NoProgram):
            return result.code == case.expect
        if case.expect.startswith("program."):
            first = next(iter(check(result.source, self._catalogue, line_map=result.line_map)), None)
            return first is not None and (first.code, first.line) == (case.expect, case.at)
        return case.expect == "program" and self._does(result, case.params, case.output, case.calls)

    def answer(self, answer: Answer) -> bool:
        result = extract(answer.text, finish_reason=answer.finish_reason, program_bytes_max=PROGRAM_BYTES_MAX)
        if isinstance(result, NoProgram):
            return result.code == answer.code
        return not answer.code and self._does(result, PARAMS, answer.output, CALLS)

    def _does(self, result: Extracted, params: dict[str, Any], output: Any, calls: list[Any]) -> bool:
        findings = check(result.source, self._catalogue, line_map=result.line_map)
        if any(finding.severity == "error" for finding in findings):
            return False
        ran = self._run(result.source, params)
        return (ran.ended, ran.output, ran.calls) == ("returned", output, calls)


def corpus_table(cases: Iterable[Case], judge: Judge) -> str:
    """One row for each kind of answer."""
    rows = []
    all_cases = list(cases)
    for kind, what in KINDS.items():
        own = [case for case in all_cases if case.name.startswith(f"{kind}-")]
        rows.append((int(kind), what, len(own), sum(judge.case(case) for case in own)))
    total, passed = len(all_cases), sum(row[3] for row in rows)
    lines = [f"| {kind} | {what} | {count} | {good} |" for kind, what, count, good in rows]
    head = ["| kind | what the model writes | answers | as meant |", "|---|---|---|---|"]
    return "\n".join([*head, *lines, f"| | **all** | **{total}** | **{passed}** ({_rate(passed, total)}) |"])


def mutation_table(judge: Judge) -> str:
    """One row for each class of mutation, each alone, over every program that it leaves intact."""
    lines = ["| class | mutations | answers | as meant |", "|---|---|---|---|"]
    total = passed = 0
    for name, mutations, answers in _classes():
        made = list(answers)
        good = sum(judge.answer(answer) for answer in made)
        total, passed = total + len(made), passed + good
        lines.append(f"| {name} | {mutations} | {len(made)} | {good} |")
    return "\n".join([*lines, f"| **all** | | **{total}** | **{passed}** ({_rate(passed, total)}) |"])


def _rate(passed: int, total: int) -> str:
    return f"{100 * passed / total:.1f} %"


def _fenced(code: str) -> str:
    return CONTAINERS["js"](code)


def _classes() -> Iterator[tuple[str, str, Iterator[Answer]]]:
    """Name, what it has, and its answers."""
    yield "entry: how `run` is spelt", _list(SHAPES), _each(SHAPES, lambda body, shape: _fenced(shape(body)))
    yield "wrap: what the program stands in", _list(CONTAINERS), _of_function(CONTAINERS, lambda code: code)
    yield "relabel the fence", _list(LABELS), _of_function(LABELS, lambda code: code)
    yield "re-indent", _list(INDENTS), _of_function(INDENTS, lambda code: code, then=_fenced)
    yield "nest", _list(NESTS), _of_function(NESTS, _fenced)
    yield "add prose, thinking, other fences", _list(AROUND), _of_function(AROUND, _fenced)
    yield "swap line ends", _list(ENDINGS), _of_function(ENDINGS, lambda code: AROUND["prose"](_fenced(code)))
    yield "cut off, `finish_reason` is `length`", "after every line", _cuts()


def _list(mutations: Mutations) -> str:
    return str(len(mutations))


def _each(shapes: Mutations, make: Callable[[str, Callable[[str], str]], str]) -> Iterator[Answer]:
    for name, (body, output) in BODIES.items():
        for shape_name, shape in shapes.items():
            if is_intact(name, shape_name):
                yield Answer(make(body, shape), output)


def _of_function(
    mutations: Mutations, before: Callable[[str], str], *, then: Callable[[str], str] = str
) -> Iterator[Answer]:
    for name, (body, output) in BODIES.items():
        if mutations is INDENTS and name in INDENT_IS_DATA:
            continue
        for mutation in mutations.values():
            yield Answer(then(mutation(before(SHAPES["function"](body)))), output)


def _cuts() -> Iterator[Answer]:
    """An answer that ends behind any of its lines: a program only where its fence is closed."""
    for body, output in BODIES.values():
        opened = f"I'll sum them up.\n\n```js\n{SHAPES['function'](body)}"
        lines = [*opened.split("\n"), "```", "", "It returns the total, in"]
        closed = len(lines) - 3
        for end in range(1, len(lines) + 1):
            text = "\n".join(lines[:end])
            code = "" if end > closed else "generation.truncated"
            yield Answer(text, output, code, finish_reason="length")
