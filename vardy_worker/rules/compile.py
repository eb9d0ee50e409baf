"""Rules compiled for the functions of a catalogue, and everything that is wrong with them."""

from __future__ import annotations

import fnmatch
import re
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vardy_worker.rules.language import DYN, ExpressionError, UntypedExpression, map_of
from vardy_worker.rules.vocabulary import Misuse, Variable, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from vardy_worker.contracts.policy import Rule
    from vardy_worker.rules.formula import Formula
    from vardy_worker.rules.language import ExpressionProblem, Language, Parsed, Program, Use, ValueType

GLOB_CHARACTERS = frozenset("*?")
_ARGS = ("args",)
_OF_OTHERS = frozenset({("effect", "seq"), ("recipe", "within_envelope")})
"""What depends on the other effects, beside the variables below `plan`."""


@dataclass(frozen=True, slots=True)
class RuleProblem:
    """One thing that is wrong with a rule. `line` is that of its `when`, from 1; 0: the whole rule."""

    rule: Rule
    message: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class Needs:
    """The values that a condition reads.

    `arguments` are read by name; `keys` are asked for in the map of arguments, and `whole`
    says that the map is used in a way that shows what is in it.
    """

    variables: tuple[Variable, ...] = ()
    arguments: tuple[str, ...] = ()
    keys: frozenset[str] = frozenset()
    whole: bool = False

    @property
    def argument_map(self) -> bool:
        """Whether the map `args` itself is read."""
        return self.whole or bool(self.keys)

    @property
    def of_plan_alone(self) -> bool:
        """Whether the answer is the same for every effect of a plan."""
        own = any(variable.path[0] in {"effect", "refs"} for variable in self.variables)
        return not (own or self.arguments or self.argument_map)

    @property
    def of_effect_alone(self) -> bool:
        """Whether the answer is the same whichever other effects the plan has."""
        return not any(v.path[0] == "plan" or v.path in _OF_OTHERS for v in self.variables)


@dataclass(frozen=True, slots=True)
class Check:
    """One rule, ready for the effects of one function. Without a program, `failure` says why."""

    index: int
    rule: Rule
    needs: Needs
    program: Program | None
    failure: str = ""
    once: bool = False
    """The answer is the same for every effect of a plan."""
    formula: Formula | None = None
    """What the condition asks, as far as it is known."""


@dataclass(frozen=True, slots=True)
class FunctionRules:
    """The rules for effects of one function, in the file's order, and what they read together."""

    checks: tuple[Check, ...]
    needs: Needs


class Condition:
    """One rule's `when`: parsed once, compiled once for each typing of the arguments it reads."""

    def __init__(self, index: int, rule: Rule, language: Language, vocabulary: Vocabulary) -> None:
        self.index = index
        self.rule = rule
        self._language = language
        self._vocabulary = vocabulary
        self.names = tuple(name for name in rule.on if not GLOB_CHARACTERS & set(name))
        self._globs = tuple(re.compile(fnmatch.translate(name)) for name in rule.on if GLOB_CHARACTERS & set(name))
        self._programs: dict[tuple[tuple[str, object], ...], Program | ExpressionError] = {}
        self._parsed: Parsed | None = None
        self.syntax: tuple[ExpressionProblem, ...] = ()
        try:
            self._parsed = language.parse(rule.when)
        except ExpressionError as error:
            self.syntax = error.problems

    def applies_to(self, function: str) -> bool:
        """Whether the rule is for effects of the function."""
        return function in self.names or any(glob.match(function) for glob in self._globs)

    def check(self, function: str) -> Check:
        """The rule for one function."""
        if self._parsed is None:
            return self._failed("; ".join(problem.message for problem in self.syntax))
        if self._vocabulary.known and function not in self._vocabulary.writes and self._reads_arguments:
            return self._failed(f"`{function}` is not among the functions, so its arguments cannot be judged")
        variables: dict[str, Variable] = {}
        for use in self._parsed.uses:
            resolved = self._resolve(use, function)
            if isinstance(resolved, Misuse):
                return self._failed(resolved.message)
            variables[resolved.name] = resolved
        program = self._program(self._parsed, variables)
        if isinstance(program, ExpressionError):
            return self._failed(str(program))
        needs = self._needs(self._parsed, variables)
        return Check(self.index, self.rule, needs, program, once=needs.of_plan_alone, formula=self.formula)

    @property
    def formula(self) -> Formula | None:
        """What the condition asks; None where the language does not tell."""
        return self._parsed.formula if self._parsed else None

    @property
    def _reads_arguments(self) -> bool:
        return self._parsed is not None and any(use.path[0] == "args" for use in self._parsed.uses)

    def problems(self, functions: Sequence[str]) -> Iterator[RuleProblem]:
        """Everything wrong with the condition for the given functions; none: for any function."""
        for problem in self.syntax:
            yield RuleProblem(self.rule, _at(problem), problem.line)
        if self._parsed is None:
            return
        sound = True
        for misuse in self._misuses(self._parsed, functions):
            sound = False
            yield misuse
        if not sound:
            return
        found: dict[ExpressionProblem, list[str]] = {}
        for function in functions or [""]:
            variables = {
                v.name: v for use in self._parsed.uses if isinstance(v := self._resolve(use, function), Variable)
            }
            program = self._program(self._parsed, variables)
            if isinstance(program, UntypedExpression) and not self._vocabulary.known:
                continue
            for problem in program.problems if isinstance(program, ExpressionError) else ():
                found.setdefault(problem, []).append(function)
        for problem, names in found.items():
            suffix = f" (in effects of `{names[0]}`)" if len(names) < len(functions) else ""
            yield RuleProblem(self.rule, _at(problem) + suffix, problem.line)

    def _misuses(self, parsed: Parsed, functions: Sequence[str]) -> Iterator[RuleProblem]:
        tested = {use.path for use in parsed.uses if use.test}
        for use in parsed.uses:
            resolved = self._resolve(use, "")
            if isinstance(resolved, Misuse):
                yield RuleProblem(self.rule, f"column {use.column}: {resolved.message}", use.line)
            elif use.path[0] in {"args", "refs"} and len(use.path) > 1 and isinstance(use.path[1], str):
                message = self._argument_problem(use, functions, guarded=use.path in tested or use.path[:2] in tested)
                if message:
                    yield RuleProblem(self.rule, f"column {use.column}: {message}", use.line)

    def _argument_problem(self, use: Use, functions: Sequence[str], *, guarded: bool) -> str:
        wrong = {name: text for name in functions if (text := self._vocabulary.check_argument(name, use.path[1:]))}
        if not wrong:
            return ""
        first = next(iter(wrong.values()))
        if len(wrong) == len(functions):
            return first if len(functions) == 1 else f"no function of `on` has it: {first}"
        if guarded:
            return ""
        name = next(iter(wrong))
        return (
            f"`{name}` is among `on` but has no `{'.'.join(str(step) for step in use.path if isinstance(step, str))}`; "
            f"narrow `on`, or test it with has() first"
        )

    def _resolve(self, use: Use, function: str) -> Variable | Misuse:
        if use.path[0] != "args":
            return self._vocabulary.resolve(use)
        if use.named == 1:
            return Variable(_ARGS, map_of(DYN))
        name = str(use.path[1])
        return Variable((*_ARGS, name), self._argument_type(function, name))

    def _argument_type(self, function: str, name: str) -> ValueType:
        """The type of an argument; where the function has none of that name, the other functions'.

        A condition that asks for the argument first never reads it there, but must have a type.
        """
        own = self._vocabulary.arguments(function).step(name) if function in self._vocabulary.writes else None
        if own is not None:
            return own.type
        for other in self._vocabulary.writes:
            shape = self._vocabulary.arguments(other).step(name) if self.applies_to(other) else None
            if shape is not None:
                return shape.type
        return DYN

    def _program(self, parsed: Parsed, variables: dict[str, Variable]) -> Program | ExpressionError:
        types = {name: variable.type for name, variable in sorted(variables.items())}
        signature = tuple(types.items())
        known = self._programs.get(signature)
        if known is None:
            try:
                known = self._language.compile(parsed, types)
            except ExpressionError as error:
                known = error
            self._programs[signature] = known
        return known

    def _needs(self, parsed: Parsed, variables: dict[str, Variable]) -> Needs:
        in_map = [use.path for use in parsed.uses if use.path[0] == "args" and use.named == 1]
        return Needs(
            variables=tuple(v for v in variables.values() if v.path[0] != "args"),
            arguments=tuple(v.path[1] for v in variables.values() if v.path[0] == "args" and len(v.path) > 1),
            keys=frozenset(path[1] for path in in_map if len(path) > 1 and isinstance(path[1], str)),
            whole=any(len(path) == 1 or not isinstance(path[1], str) for path in in_map),
        )

    def _failed(self, reason: str) -> Check:
        return Check(self.index, self.rule, Needs(), None, reason)


class CompiledRules:
    """All rules of a set, for one catalogue. May be used by many threads."""

    def __init__(self, rules: Sequence[Rule], language: Language, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._lock = threading.Lock()
        self.conditions = tuple(Condition(index, rule, language, vocabulary) for index, rule in enumerate(rules))
        self._of_function: dict[str, FunctionRules] = {}

    def of(self, function: str) -> FunctionRules:
        """The rules for effects of a function."""
        known = self._of_function.get(function)
        if known is None:
            with self._lock:
                checks = tuple(each.check(function) for each in self.conditions if each.applies_to(function))
                known = FunctionRules(checks, _together([check.needs for check in checks]))
                self._of_function[function] = known
        return known

    def problems(self) -> list[RuleProblem]:
        """Everything that the catalogue's schemas show to be wrong."""
        found: list[RuleProblem] = []
        with self._lock:
            for condition in self.conditions:
                functions = [name for name in self.vocabulary.writes if condition.applies_to(name)]
                found.extend(
                    RuleProblem(condition.rule, f"`on`: {wrong}")
                    for name in condition.names
                    if (wrong := self.vocabulary.check_function(name))
                )
                found.extend(condition.problems(functions))
        return found


def _together(needs: Sequence[Needs]) -> Needs:
    return Needs(
        variables=tuple({variable.name: variable for each in needs for variable in each.variables}.values()),
        arguments=tuple(dict.fromkeys(name for each in needs for name in each.arguments)),
        keys=frozenset(key for each in needs for key in each.keys),
        whole=any(each.whole for each in needs),
    )


def _at(problem: ExpressionProblem) -> str:
    return f"column {problem.column}: {problem.message}" if problem.column else problem.message
