"""Texts made to be slow: each is read within a bound that any machine keeps."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from vardy_worker.contracts.program import Extracted
from vardy_worker.programs import check, extract, read_turn

if TYPE_CHECKING:
    from vardy_worker.contracts.functions import Catalogue

LIMIT = 65_536
SECONDS_MAX = 10
"""Far above what any of these takes (a few seconds on one slow core), far below a hang."""

WRITES = "".join(f"let r{n} = await send_email({{to: 'a', body: 'b'}}); r0 = r{n};\n" for n in range(800))
COPIES = "".join(f"const p{n + 1} = p{n};\n" for n in range(2_000))
TEXTS = {
    "ticks": "```\n" * 16_000,
    "one long fence": "`" * LIMIT,
    "open templates in fences": "```js\nfoo(`\n" * 5_000,
    "quote marks": ">" * LIMIT,
    "spaces": " " * (LIMIT - 20) + "```js\nx",
    "list markers": "- " * 30_000 + "```js",
    "thinking": "<think>\n" * 8_000,
    "escapes in json": '{"code": "' + "\\" * 60_000,
    "nested json": '{"code": ' * 7_000,
    "brackets": "([{" * 20_000,
    "templates": "`${" * 20_000,
    "starts of code": "const a = {};\n" * 4_000 + "oops (",
    "ends of code": "}\n" * 30_000,
    "generics": "f<" * 30_000,
    "prose": "I can't do that. " * 3_600,
    "answer without an end": "<answer>x" + "\n" * 65_000 + "y",
    "deep members": "async function run(params) { return params" + ".a" * 25_000 + "; }",
    "deep functions": "async function run(params) { return " + "(x => " * 8_000 + "1" + ")" * 8_000 + "; }",
    "deep variables": "async function run(params) { " + "{var a;" * 8_000 + "}" * 8_000 + " return 1; }",
    "deep waits": "async function run(params) { return " + "await " * 10_000 + "params; }",
    "deep promises": "async function run(params) { " + "new Promise(() => " * 3_000 + "1" + ")" * 3_000 + "; }",
    "deep blocks": "async function run(params) { " + "{" * 15_000 + "}" * 15_000 + " return 1; }",
    "many writes": f"async function run(params) {{ {WRITES} return 1; }}",
    "many copies": f"async function run(params) {{ const p0 = list_customers(); {COPIES} return await p2000; }}",
}


TURNS = ("answer without an end", "deep members", "many writes", "one long fence", "prose", "thinking", "ticks")


@pytest.mark.parametrize("name", TURNS)
def test_no_turn_takes_long_to_read(name: str, shop: Catalogue) -> None:
    names = [spec.name for spec in shop.functions] * 20
    begin = time.process_time()

    read_turn(TEXTS[name][:LIMIT], program_bytes_max=LIMIT, answer_bytes_max=LIMIT, functions=names)

    assert time.process_time() - begin < SECONDS_MAX


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_no_text_takes_long_to_read_and_check(name: str, shop: Catalogue) -> None:
    text = TEXTS[name][:LIMIT]
    begin = time.process_time()

    result = extract(text, program_bytes_max=LIMIT)
    check(result.source if isinstance(result, Extracted) else text, shop)

    assert time.process_time() - begin < SECONDS_MAX
