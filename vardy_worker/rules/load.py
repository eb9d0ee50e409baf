"""A rules file: YAML in, `RuleSet` out, or every problem with its line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING

import yaml

from vardy_worker.contracts.base import sha256_json
from vardy_worker.contracts.errors import RulesError
from vardy_worker.contracts.policy import QUORUM_MAX, Approvers, Rule, RuleSet, Verdict
from vardy_worker.contracts.totals import WINDOW_HOURS, WINDOW_HOURS_MAX

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from vardy_worker.contracts.base import JsonObject

FILE_BYTES_MAX = 256 * 1024
RULES_MAX = 500
NAMES_PER_RULE_MAX = 200
WHEN_CHARACTERS_MAX = 4_096
TEXT_CHARACTERS_MAX = 500

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_GLOB = re.compile(r"[A-Za-z0-9_$*?]{1,200}")
_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("str", "bool", "int", "float", "null", "timestamp", "merge"))

_FILE_KEYS = ("default", "rules", "user_window_hours")
_RULE_KEYS = ("name", "on", "when", "then", "approvers", "message")
_APPROVERS_KEYS = ("roles", "quorum")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong; `line` counts from 1, `rule` is "" outside of rules."""

    line: int
    rule: str
    message: str


@dataclass(frozen=True, slots=True)
class Draft:
    """What could be read of a file. Its rules hold only when there are no problems, here or later."""

    rules: RuleSet
    problems: tuple[Problem, ...] = ()
    conditions: dict[int, tuple[int, bool]] = field(default_factory=dict)
    """By the line of a rule, since a name may be there twice: the line its `when` begins at, and
    whether the file keeps its lines."""

    def condition_line(self, rule: Rule, line: int) -> int:
        """The file's line for a line of a rule's `when`, both from 1; 0 stands for the whole rule."""
        start, keeps_lines = self.conditions.get(rule.line, (rule.line, False))
        if not line:
            return rule.line
        return start + line - 1 if keeps_lines else start


def rules_error(problems: Sequence[Problem]) -> RulesError:
    """The error for a file: the first problem as its sentence, all of them in its details."""
    ordered = sorted(problems, key=lambda problem: problem.line)
    first = ordered[0]
    where = f"Line {first.line}" + (f", rule `{first.rule}`" if first.rule else "")
    more = len(ordered) - 1
    others = f" (and {more} more problem{'s' if more > 1 else ''})" if more else ""
    return RulesError(
        f"{where}: {first.message}{others}",
        details={
            "line": first.line,
            "rule": first.rule,
            "problems": [{"line": each.line, "rule": each.rule, "message": each.message} for each in ordered],
        },
    )


def rule_set(default: Verdict, rules: Sequence[Rule], user_window_hours: int = WINDOW_HOURS) -> RuleSet:
    """A rule set with its digest: over what the rules say, not where in the file they say it."""
    content: JsonObject = {
        "default": default.value,
        "rules": [rule.model_dump(mode="json", exclude={"line"}) for rule in rules],
    }
    if user_window_hours != WINDOW_HOURS:
        content["user_window_hours"] = user_window_hours
    return RuleSet(
        default=default, rules=tuple(rules), user_window_hours=user_window_hours, digest=sha256_json(content)
    )


def read_rules_file(text: str) -> Draft:
    """Reads a file's structure. Raises `RulesError` only when the text is no YAML mapping at all."""
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > FILE_BYTES_MAX:
        raise rules_error([Problem(1, "", f"the file has {size} bytes; the most is {FILE_BYTES_MAX}")])
    try:
        # Only composed, never constructed: the nodes keep their lines, duplicate keys, and `on` as a text.
        document = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = f"this is not YAML: {error.problem or error.context}"
        raise rules_error([Problem(mark.line + 1 if mark else 1, "", message)]) from None
    except yaml.YAMLError as error:
        raise rules_error([Problem(1, "", f"this is not YAML: {str(error).splitlines()[0]}")]) from None
    except RecursionError:
        raise rules_error([Problem(1, "", "the file is nested too deeply")]) from None
    if not isinstance(document, yaml.MappingNode):
        message = "the file must be a mapping with `default` and `rules`"
        raise rules_error([Problem(_line(document) if document else 1, "", message)])
    return _Reader().file(document)


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


class _Reader:
    """Walks the nodes of one file and collects problems instead of stopping at the first."""

    def __init__(self) -> None:
        self._problems: list[Problem] = []
        self._rule = ""
        self._rule_line = 0
        self._conditions: dict[int, tuple[int, bool]] = {}

    def file(self, document: yaml.MappingNode) -> Draft:
        parts = self._mapping(document, _FILE_KEYS, "the file")
        default = self._verdict(parts.get("default"), "default") or Verdict.APPROVE
        rules: list[Rule] = []
        node = parts.get("rules")
        if not parts:
            self._problem(document, "the file must have `default`, `rules`, or both")
        hours = self._window_hours(parts.get("user_window_hours"))
        for item in self._sequence(node, "rules", RULES_MAX):
            rule = self._read_rule(item)
            if rule is not None:
                rules.append(rule)
        self._rule = ""
        self._refuse_repeated(rules)
        return Draft(rule_set(default, rules, hours), tuple(self._problems), self._conditions)

    def _window_hours(self, node: yaml.Node | None) -> int:
        if node is None:
            return WINDOW_HOURS
        text = self._text(node, "user_window_hours", TEXT_CHARACTERS_MAX)
        if re.fullmatch(r"[0-9]{1,3}", text) and 1 <= int(text) <= WINDOW_HOURS_MAX:
            return int(text)
        self._problem(node, f"`user_window_hours` must be a number of hours from 1 to {WINDOW_HOURS_MAX}")
        return WINDOW_HOURS

    def _refuse_repeated(self, rules: list[Rule]) -> None:
        first: dict[str, int] = {}
        for rule in rules:
            if rule.name in first:
                message = f"the name is already taken by the rule at line {first[rule.name]}"
                self._problems.append(Problem(rule.line, rule.name, message))
            first.setdefault(rule.name, rule.line)

    def _read_rule(self, node: yaml.Node) -> Rule | None:
        self._rule = ""
        parts = self._mapping(node, _RULE_KEYS, "a rule") if isinstance(node, yaml.MappingNode) else None
        if parts is None:
            self._problem(node, "a rule must be a mapping with `name` and `then`")
            return None
        # A key too many is told, and what stands beside it is read and checked.
        before = len(self._problems)
        name = self._text(parts.get("name"), "name", 100)
        self._rule, self._rule_line = name, _line(node)
        if parts.get("name") is None:
            self._problem(node, "the rule has no `name`")
        elif name and not _NAME.fullmatch(name):
            self._problem(
                parts["name"], "a name is made of letters, digits, `-`, `_` and `.`, and begins with the former"
            )
        if parts.get("then") is None:
            self._problem(node, "the rule has no `then`: allow, approve or block")
        then = self._verdict(parts.get("then"), "then")
        approvers = self._approvers(parts.get("approvers"), then)
        on = self._on(parts.get("on"))
        when = self._when(parts.get("when"))
        message = self._text(parts.get("message"), "message", TEXT_CHARACTERS_MAX)
        if then is None or len(self._problems) > before:
            return None
        return Rule(name=name, on=on, when=when, then=then, approvers=approvers, message=message, line=_line(node))

    def _on(self, node: yaml.Node | None) -> tuple[str, ...]:
        if node is None:
            return ("*",)
        if isinstance(node, yaml.ScalarNode):
            self._problem(node, f"`on` must be a list: `on: [{node.value}]`")
            return ()
        names: list[str] = []
        for item in self._sequence(node, "on", NAMES_PER_RULE_MAX):
            name = self._text(item, "on", TEXT_CHARACTERS_MAX)
            if name and not _GLOB.fullmatch(name):
                self._problem(
                    item, f"`{name}` is no function name or glob; `*` stands for anything, `?` for one character"
                )
            names.append(name)
        if not names and isinstance(node, yaml.SequenceNode):
            self._problem(node, "`on` names no function, so the rule could never match")
        return tuple(names)

    def _when(self, node: yaml.Node | None) -> str:
        if node is None:
            return "true"
        when = self._text(node, "when", WHEN_CHARACTERS_MAX)
        if isinstance(node, yaml.ScalarNode):
            literal = node.style == "|"
            one_line = node.end_mark.line == node.start_mark.line
            self._conditions.setdefault(self._rule_line, (_line(node) + literal, literal or one_line))
        return when

    def _approvers(self, node: yaml.Node | None, then: Verdict | None) -> Approvers | None:
        if node is None:
            return None
        if then is not None and then is not Verdict.APPROVE:
            self._problem(node, f"`approvers` only goes with `then: approve`, not with `then: {then}`")
        if not isinstance(node, yaml.MappingNode):
            self._problem(node, "`approvers` must be a mapping with `roles`, `quorum`, or both")
            return None
        parts = self._mapping(node, _APPROVERS_KEYS, "`approvers`")
        roles = [
            self._text(item, "roles", TEXT_CHARACTERS_MAX)
            for item in self._sequence(parts.get("roles"), "roles", NAMES_PER_RULE_MAX)
        ]
        quorum = 1
        if (number := parts.get("quorum")) is not None:
            text = self._text(number, "quorum", TEXT_CHARACTERS_MAX)
            if re.fullmatch(r"[0-9]{1,3}", text) and 1 <= int(text) <= QUORUM_MAX:
                quorum = int(text)
            else:
                self._problem(number, f"`quorum` must be a number from 1 to {QUORUM_MAX}")
        return Approvers(roles=tuple(dict.fromkeys(roles)), quorum=quorum)

    def _verdict(self, node: yaml.Node | None, key: str) -> Verdict | None:
        if node is None:
            return None
        text = self._text(node, key, TEXT_CHARACTERS_MAX)
        try:
            return Verdict(text)
        except ValueError:
            if text:
                self._problem(node, f"`{key}` must be allow, approve or block{_hint(text, [*Verdict])}")
            return None

    def _text(self, node: yaml.Node | None, key: str, characters_max: int) -> str:
        """A scalar as it is written; empty, with a problem, when it is none."""
        if node is None:
            return ""
        if not isinstance(node, yaml.ScalarNode) or node.tag not in _TAGS:
            self._problem(node, f"`{key}` must be a plain text")
            return ""
        text = str(node.value)
        if not text.strip() and key != "message":
            self._problem(node, f"`{key}` is empty")
        elif len(text) > characters_max:
            self._problem(node, f"`{key}` has {len(text)} characters; the most is {characters_max}")
        elif any("\ud800" <= character <= "\udfff" for character in text):
            self._problem(node, f"`{key}` contains half of a surrogate pair, which is no character")
        else:
            return text
        return ""

    def _sequence(self, node: yaml.Node | None, key: str, items_max: int) -> list[yaml.Node]:
        if node is None:
            return []
        if not isinstance(node, yaml.SequenceNode):
            self._problem(node, f"`{key}` must be a list")
            return []
        items: list[yaml.Node] = node.value
        if len(items) > items_max:
            self._problem(node, f"`{key}` has {len(items)} entries; the most is {items_max}")
            return []
        return items

    def _mapping(self, node: yaml.MappingNode, keys: tuple[str, ...], what: str) -> dict[str, yaml.Node]:
        parts: dict[str, yaml.Node] = {}
        for key, value in self._entries(node, what):
            if key.value in parts:
                self._problem(key, f"`{key.value}` is written twice")
            elif key.value in keys:
                parts[key.value] = value
            else:
                known = ", ".join(f"`{each}`" for each in keys)
                self._problem(key, f"`{key.value}` is not known in {what}; there are {known}{_hint(key.value, keys)}")
        return parts

    def _entries(self, node: yaml.MappingNode, what: str) -> Iterator[tuple[yaml.ScalarNode, yaml.Node]]:
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                yield key, value
            else:
                self._problem(key, f"the keys of {what} must be plain texts")

    def _problem(self, node: yaml.Node, message: str) -> None:
        self._problems.append(Problem(_line(node), self._rule, message))


def _hint(word: str, known: Sequence[str]) -> str:
    near = get_close_matches(word.lower(), known, n=1)
    return f" (did you mean `{near[0]}`?)" if near else ""
