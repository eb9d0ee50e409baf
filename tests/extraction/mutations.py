"""Ways to write one program: working programs, and mutations that leave them intact."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

PARAMS = {"customer_id": 7}
CALLS = [["list_invoices", {"customer_id": 7}]]
TOTAL = {"total": 2000}

LOAD = "const rows = await list_invoices({ customer_id: params.customer_id });"
SUM = "rows.reduce((sum, row) => sum + row.amount_cents, 0)"
BODIES: dict[str, tuple[str, Any]] = {
    "plain": (f"  {LOAD}\n  return {{ total: {SUM} }};", TOTAL),
    "comments": (f"  // it's the customer's ``total``\n  {LOAD} /* don't */\n  return {{ total: {SUM} }};", TOTAL),
    "blank lines": (f"\n  {LOAD}\n\n\n  const total = {SUM};\n\n  return {{ total }};\n", TOTAL),
    "template over lines": (f"  {LOAD}\n  return `a\n  b\n    c\n\nd ${{{SUM}}}`;", "a\n  b\n    c\n\nd 2000"),
    "regex": (f'  {LOAD}\n  const odd = /[`\'"/]+\\//.test("`/");\n  return {{ total: odd ? {SUM} : 0 }};', TOTAL),
    "strings": (f"  {LOAD}\n  return [\"run(params)\", '\\u007b\\'\\n', {SUM}];", ["run(params)", "{'\n", 2000]),
    "comparison": (f"  {LOAD}\n  const a = 1, b = 2, c = 3;\n  return [a <b> c, {SUM}];", [False, 2000]),
    "nested functions": (
        f"  {LOAD}\n  async function run(x) {{ return x; }}\n  return {{ total: await run({SUM}) }};",
        TOTAL,
    ),
    "unicode": (f'  {LOAD}\n  return ["é 🙂 \\ud83d\\ude42", {SUM}];', ["é 🙂 🙂", 2000]),
}

SHAPES: dict[str, Callable[[str], str]] = {
    "function": lambda body: f"async function run(params) {{\n{body}\n}}",
    "function with a call": lambda body: f"async function run(params) {{\n{body}\n}}\n\nrun(params).then(console.log);",
    "function with a printed call": lambda body: (
        f"async function run(params) {{\n{body}\n}}\nconst out = await run({{}});\nconsole.log(out);"
    ),
    "exported function": lambda body: f"export async function run(params) {{\n{body}\n}}",
    "default function": lambda body: f"export default async function run(params) {{\n{body}\n}}",
    "default arrow": lambda body: f"export default async (params) => {{\n{body}\n}};",
    "arrow": lambda body: f"const run = async (params) => {{\n{body}\n}};",
    "arrow of one name": lambda body: f"const run = async params => {{\n{body}\n}};\nexport default run;",
    "bare arrow": lambda body: f"async (params) => {{\n{body}\n}}",
    "module exports": lambda body: f"module.exports = async function (params) {{\n{body}\n}};",
    "exports run": lambda body: f"exports.run = async (params) => {{\n{body}\n}};",
    "method": lambda body: f"module.exports = {{\n  async run(params) {{\n{body}\n  }},\n}};",
    "other name": lambda body: f"async function solve(params) {{\n{body}\n}}",
    "other name called": lambda body: f"async function main(params) {{\n{body}\n}}\nmain(params);",
    "statements": lambda body: body.replace("\n  ", "\n").lstrip(),
    "iife": lambda body: f"(async () => {{\n{body}\n}})();",
    "helper before": lambda body: f"const help = (x) => x;\nasync function run(params) {{\n{body}\n}}",
    "helper after": lambda body: f"async function run(params) {{\n{body}\n}}\nfunction help(x) {{ return x; }}",
    "types": lambda body: f"async function run(params: {{ customer_id: number }}): Promise<any> {{\n{body}\n}}",
}


def _fence(mark: str, label: str) -> Callable[[str], str]:
    return lambda code: f"{mark}{label}\n{code}\n{mark}"


LABELS: dict[str, Callable[[str], str]] = {
    **{label or "no label": _fence("```", label) for label in ("js", "JavaScript", "ts", "typescript", "jsx", "")},
    "spaced label": _fence("```", " js"),
    "titled": _fence("```", "js filename=program.js"),
    "label of a tool": _fence("```", "mjs"),
}

CONTAINERS: dict[str, Callable[[str], str]] = {
    **LABELS,
    "tildes": _fence("~~~", "js"),
    "long fence": _fence("`````", "javascript"),
    "open fence": lambda code: f"```js\n{code}",
    "code tag": lambda code: f"<code>\n{code}\n</code>",
    "json code": lambda code: json.dumps({"code": code}),
    "json program": lambda code: json.dumps({"thoughts": 'it\'s "easy" {', "program": code}, indent=2),
    "json in a fence": lambda code: f"```json\n{json.dumps({'javascript': code}, ensure_ascii=False)}\n```",
    "fence in json": lambda code: json.dumps({"code": f"```js\n{code}\n```"}),
    "bare": lambda code: code,
}
ALONE = {"json code", "json program", "fence in json", "bare", "code tag"}
"""Containers that the text ends with, or that stand on their own."""


def _indented(width: int, marker: str) -> Callable[[str], str]:
    def put(text: str) -> str:
        lines = text.split("\n")
        rest = [" " * width + line if line else line for line in lines[1:]]
        return "\n".join([marker.ljust(width) + lines[0], *rest])

    return put


NESTS: dict[str, Callable[[str], str]] = {
    "numbered list": _indented(3, "1."),
    "bullet": _indented(2, "-"),
    "nested bullet": _indented(6, "    *"),
    "indented": _indented(4, ""),
    "quote": lambda text: "\n".join(f"> {line}" for line in text.split("\n")),
    "tight quote": lambda text: "\n".join(f">{line}" for line in text.split("\n")),
    "markdown fence": lambda text: f"``````markdown\n# Plan\n\n{text}\n``````",
}

AROUND: dict[str, Callable[[str], str]] = {
    "prose": lambda text: f"Here's what I'll do: call `list_invoices` once.\n\n{text}\n\nThat's it; isn't it `easy`?",
    "heading and list": lambda text: f"## Plan\n\n- read\n- sum up (in cents)\n\n## Program\n\n{text}\n",
    "thinking": lambda text: (
        f"<think>\nMaybe:\n```js\nasync function run(p) {{ return -1; }}\n```\nNo.\n</think>\n{text}"
    ),
    "open thinking": lambda text: f"Maybe\n```js\nreturn await get_customer();\n```\n</think>\n\n{text}",
    "illustration first": lambda text: f"Rows look like\n\n```\n{{ number: ..., }}\n```\n\n{text}",
    "output after": lambda text: f'{text}\n\nExample output:\n\n```json\n{{"total": 1}}\n```\n',
    "shell after": lambda text: f"{text}\n\n```bash\nvardy run 'sum'\n```\n",
    "blank lines": lambda text: f"\n\n   \n{text}\n\n\n",
}

ENDINGS: dict[str, Callable[[str], str]] = {
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "bom": lambda text: "\ufeff" + text,
    "bom and crlf": lambda text: "\ufeff" + text.replace("\n", "\r\n"),
    "trailing spaces": lambda text: text + "  \n \n",
}


def _reindented(line: str, unit: str) -> str:
    depth = (len(line) - len(line.lstrip(" "))) // 2
    return unit * depth + line.lstrip(" ")


INDENTS: dict[str, Callable[[str], str]] = {
    "tabs": lambda code: "\n".join(_reindented(line, "\t") for line in code.split("\n")),
    "four spaces": lambda code: "\n".join(_reindented(line, "    ") for line in code.split("\n")),
    "none": lambda code: "\n".join(line.lstrip(" ") for line in code.split("\n")),
    "non-breaking spaces": lambda code: "\n".join(_reindented(line, "\u00a0\u00a0") for line in code.split("\n")),
}
INDENT_IS_DATA = {"template over lines"}
"""Programs in which white space at the start of a line is part of a text."""
NOT_AS_STATEMENTS = {"template over lines", "nested functions"}
"""Also those whose inner `run` would stand at the top, and so become the one that is meant."""


def is_intact(body: str, shape: str) -> bool:
    """Whether the program of that name is still itself in the shape of that name."""
    return shape != "statements" or body not in NOT_AS_STATEMENTS
