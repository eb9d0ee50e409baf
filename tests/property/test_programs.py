"""Generated programs: a free name is accepted exactly when it is a function or an allowed global.

The grammar below writes JavaScript and knows, while it writes, which names are in scope.
So it can say of every program whether it uses a name that nobody declares.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vardy_worker.contracts.functions import Catalogue, FunctionKind, FunctionSpec
from vardy_worker.programs import check, functions_called
from vardy_worker.programs.globals import ALLOWED_GLOBALS, MISSING_GLOBALS

if TYPE_CHECKING:
    from collections.abc import Callable

FUNCTIONS = ("fetch_rows", "load", "setTimeout")
CATALOGUE = Catalogue(
    functions=tuple(
        FunctionSpec(
            name=name,
            kind=FunctionKind.READ,
            input_schema={"type": "object", "properties": {}},
            output_schema={},
            declaration="",
            version="1",
        )
        for name in FUNCTIONS
    )
)
LOCALS = ("a", "b", "row", "of", "get", "set", "async", "from", "type", "fetch", "eval", "process", "Function", "é$_1")
"""Names that programs declare: some would be forbidden if they were free."""
FREE_GOOD = sorted(ALLOWED_GLOBALS - {"undefined"})
FREE_BAD = sorted((set(MISSING_GLOBALS) - {"globalThis", *FUNCTIONS, *LOCALS}) | {"db", "rows2", "loadAll", "nobody"})
WORDS = ("import", "eval", "fetch", "class", "if", "constructor2", "require", "process", "arguments", "await")
_SETTINGS = settings(
    max_examples=120,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example, HealthCheck.data_too_large],
)


@dataclass
class Writer:
    """Writes one program. `bad` are the free names it used that must be refused."""

    draw: Callable[[st.SearchStrategy[object]], object]
    scopes: list[set[str]] = field(default_factory=lambda: [set(), {"params"}])
    used: set[str] = field(default_factory=set)
    bad: set[str] = field(default_factory=set)
    allow_bad: bool = False
    count: int = 0

    def pick(self, *options: str) -> str:
        return str(self.draw(st.sampled_from(options)))

    def number(self, most: int) -> int:
        return int(str(self.draw(st.integers(0, most))))

    def new_name(self) -> str:
        """A name that this scope does not declare yet, so that nothing is declared twice."""
        name = self.pick(*LOCALS)
        while name in self.scopes[-1]:
            self.count += 1
            name = f"v{self.count}"
        return name

    def declare(self, name: str) -> str:
        self.scopes[-1].add(name)
        return name

    def known(self, name: str) -> bool:
        return any(name in scope for scope in self.scopes)

    def name(self) -> str:
        """A use of a name: declared, or free."""
        seen = sorted(set().union(*self.scopes))
        kind = self.number(9)
        if kind < 6 and seen:
            return self.pick(*seen)
        if kind < 9 or not self.allow_bad:
            return self.pick(*FREE_GOOD)
        name = self.pick(*FREE_BAD)
        if not self.known(name):
            self.bad.add(name)
        return name

    # --- expressions ---------------------------------------------------------------------

    def expression(self, depth: int) -> str:
        if depth <= 0:
            return self.leaf()
        inner = depth - 1
        kinds: list[Callable[[int], str]] = [
            lambda _: self.leaf(),
            self.call,
            lambda d: (
                f"({self.expression(d)} {self.pick('+', '-', '<', '===', '&&', '||', '??', ',')} {self.expression(d)})"
            ),
            lambda d: f"[{self.expression(d)}, ...[{self.expression(d)}], , {self.expression(d)}]",
            self.object,
            lambda d: f"({self.expression(d)} ? {self.expression(d)} : {self.expression(d)})",
            lambda d: f"`x${{{self.expression(d)}}} eval(${{{self.expression(d)}}})`",
            lambda d: f"{self.target(d)}.{self.pick(*WORDS)}",
            lambda d: f"{self.target(d)}?.[{self.expression(d)}]",
            lambda d: f"!{self.target(d)}",
            self.arrow,
            self.function_expression,
            self.class_expression,
        ]
        return kinds[self.number(len(kinds) - 1)](inner)

    def target(self, depth: int) -> str:
        return f"({self.expression(depth)})"

    def leaf(self) -> str:
        return (
            self.pick("1", "2n", "'eval(1)'", '"it\'s"', "/[`/]fetch/g", "null", "true", "params")
            if self.number(2)
            else self.name()
        )

    def call(self, _: int) -> str:
        name = self.pick(*FUNCTIONS)
        if self.known(name):
            return "1"
        self.used.add(name)
        return f"(await {name}())"

    def object(self, depth: int) -> str:
        shorthand = self.name()
        if shorthand in {"of", "get", "set", "async", "from", "type"}:
            shorthand = f"w: {shorthand}"
        key = self.pick(*WORDS)
        return (
            f"({{ {key}: {self.expression(depth)}, {shorthand}, [{self.expression(depth)}]: 1, "
            f"'quoted word': {self.expression(depth)}, get {self.pick(*WORDS)}() {{ return 1; }} }})"
        )

    def parameters(self) -> str:
        """Parameters of a function whose scope is the innermost one."""
        kind = self.number(5)
        if kind == 0:
            return ""
        first = self.declare(self.new_name())
        if kind == 1:
            return first
        second = self.declare(self.new_name())
        if kind == 2:
            return f"{first}, {second} = {self.leaf()}"
        if kind == 3:
            return f"{{ eval: {first}, x: [{second} = {self.leaf()}] = [] }} = {{}}"
        return f"[{first}, , {second}] = []" if kind == 4 else f"{first}, ...{second}"

    def arrow(self, depth: int) -> str:
        self.scopes.append(set())
        parameters = self.parameters()
        body = f"({self.expression(depth)})" if self.number(1) else f"{{ {self.statements(depth)} return 1; }}"
        self.scopes.pop()
        return f"(async ({parameters}) => {body})"

    def function_expression(self, depth: int) -> str:
        self.scopes.append({"arguments"})
        own = f" {self.declare(self.new_name())}" if self.number(1) else ""
        parameters = self.parameters()
        body = self.statements(depth)
        result = self.expression(depth)
        self.scopes.pop()
        return f"(async function{own}({parameters}) {{ {body} return {result}; }})"

    def class_expression(self, depth: int) -> str:
        self.scopes.append({"arguments"})
        name = self.declare(self.new_name().replace("eval", "Evaluation"))
        method = f"async {self.pick(*WORDS)}() {{ return {self.expression(depth)}; }}"
        self.scopes.pop()
        return f"(class {name} {{ #{self.pick('x', 'y')} = 1; static import = 2; {method} }})"

    # --- statements -----------------------------------------------------------------------

    def statements(self, depth: int) -> str:
        return " ".join(self.statement(depth) for _ in range(self.number(2)))

    def block(self, depth: int) -> str:
        self.scopes.append(set())
        inside = self.statements(depth)
        self.scopes.pop()
        return f"{{ {inside} }}"

    def statement(self, depth: int) -> str:
        inner = depth - 1
        kinds: list[Callable[[int], str]] = [
            self.variable,
            lambda d: f"void {self.target(d)};",
            lambda d: f"if ({self.expression(d)}) {self.block(d)} else {self.block(d)}",
            self.loop,
            self.caught,
            self.function_statement,
            self.labelled,
            lambda d: f"switch ({self.expression(d)}) {{ case {self.expression(d)}: {self.block(d)} default: }}",
        ]
        return kinds[self.number(len(kinds) - 1) if depth > 0 else self.number(1)](inner)

    def variable(self, depth: int) -> str:
        kind = self.number(2)
        value = self.expression(depth)
        name = self.new_name()
        if kind == 0:
            return f"{self.pick('const', 'let')} {self.declare(name)} = {value};"
        if kind == 1:
            self.declare(name)
            other = self.declare(self.new_name())
            return f"const {{ fetch: {name}, [{self.leaf()}]: {other} = 1 }} = [{value}];"
        self.declare(name)
        other = self.declare(self.new_name())
        return f"let [{name}, ...{other}] = [{value}]; {name} = {self.leaf()};"

    def labelled(self, depth: int) -> str:
        self.count += 1
        label = f"eval{self.count}"
        return f"{label}: for (;;) {{ {self.block(depth)} break {label}; }}"

    def loop(self, depth: int) -> str:
        over = self.expression(depth)
        self.scopes.append(set())
        name = self.declare(self.new_name())
        body = self.block(depth)
        self.scopes.pop()
        # `for (let of of …)` and the like are read differently by engines.
        name = name if name not in {"of", "async"} else f"({name})"
        return f"for (const {name} of [{over}]) {body}" if "(" not in name else f"void [{over}];"

    def caught(self, depth: int) -> str:
        tried = self.block(depth)
        self.scopes.append(set())
        name = self.declare(self.new_name())
        handler = self.statements(depth)
        self.scopes.pop()
        return f"try {tried} catch ({name}) {{ {handler} }}"

    def function_statement(self, depth: int) -> str:
        name = self.declare(self.new_name())
        self.scopes.append({"arguments"})
        parameters = self.parameters()
        body = self.statements(depth)
        self.scopes.pop()
        return f"async function {name}({parameters}) {{ {body} return 1; }}"


@st.composite
def programs(draw: st.DrawFn, *, allow_bad: bool = False) -> tuple[str, set[str], set[str]]:
    """A program, the registered functions it calls, and the names that must be refused."""
    writer = Writer(draw, allow_bad=allow_bad)
    body = "\n  ".join(writer.statement(3) for _ in range(1 + writer.number(3)))
    source = f"async function run(params) {{\n  {body}\n  return {writer.expression(2)};\n}}\n"
    return source, writer.used, writer.bad


@_SETTINGS
@given(program=programs())
def test_a_program_of_known_names_is_never_rejected(program: tuple[str, set[str], set[str]]) -> None:
    source, used, _ = program

    errors = [finding for finding in check(source, CATALOGUE) if finding.severity == "error"]

    assert errors == [], source
    assert set(functions_called(source, CATALOGUE)) == used


@_SETTINGS
@given(program=programs(allow_bad=True))
def test_exactly_the_unknown_names_are_rejected(program: tuple[str, set[str], set[str]]) -> None:
    source, _, bad = program

    found = [finding for finding in check(source, CATALOGUE) if finding.severity == "error"]

    assert {finding.code for finding in found} <= {
        "program.forbidden",
        "program.unknown_name",
        "program.unknown_function",
    }, source
    assert {finding.details["name"] for finding in found} == bad, source


@_SETTINGS
@given(text=st.text(alphabet=st.sampled_from("(){}[]`'\"/\\*=>;:,.?!&|+-<ab1 \n$#@é🙂\ud800"), max_size=200))
def test_no_text_makes_the_checks_fail(text: str) -> None:
    for source in (text, f"async function run(params) {{ {text} }}"):
        for finding in check(source, CATALOGUE):
            assert 1 <= finding.line <= source.count("\n") + 1
            assert finding.column >= 1
