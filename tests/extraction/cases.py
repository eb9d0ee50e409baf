"""The files of the corpus."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parent / "corpus"
KINDS = {
    "01": "prose before and behind, in several languages",
    "02": "fences of any label, lists, quotes, line ends, byte order mark",
    "03": "several fences: illustrations, output, other languages, steps",
    "04": "ticks inside of the program",
    "05": "a fence never closed, an answer cut off",
    "06": "thinking, with code in it",
    "07": "JSON with the program in it",
    "08": "TypeScript",
    "09": "exports, and other spellings of `run`",
    "10": "helpers and constants around `run`",
    "11": "a bare function, bare statements",
    "12": "other parameters of `run`",
    "13": "functions of other names",
    "14": "`run` called at the end",
    "15": "text in the program that looks like something else",
    "16": "`await` on what is no promise",
    "17": "no program: refusals, questions, nothing",
    "18": "too large",
    "19": "tags, tokens, entities and signs around and inside the program",
    "20": "`run` in a block, an object, a class or a module",
}
"""The kinds of answers, by the number that the names of their files begin with."""


@dataclass(frozen=True)
class Case:
    """One file of the corpus: a header of JSON, a line of dashes, then what the model wrote.

    The header may hold `expect` (`program`, a `generation.*` code, or the code of the first
    finding), `at` (the line of that finding), `params`, `output`, `calls`, `line` (the model's
    line of a call by name), `finish_reason`, and how the text is stored: `newline`, `bom`, and
    `pad` (characters in place of the word PAD).
    """

    name: str
    text: str
    expect: str = "program"
    at: int = 0
    params: dict[str, Any] = field(default_factory=lambda: {"customer_id": 7})
    output: Any = field(default_factory=lambda: {"total": 2000})
    calls: list[Any] = field(default_factory=lambda: [["list_invoices", {"customer_id": 7}]])
    line: dict[str, int] = field(default_factory=dict)
    finish_reason: str = "stop"


def read_case(path: Path) -> Case:
    head, _, text = path.read_text(encoding="utf-8").partition("\n---\n")
    header = json.loads(head)
    pad = header.pop("pad", 0)
    text = text.replace("PAD", "x" * pad) if pad else text
    text = text.replace("\n", header.pop("newline", "\n"))
    return Case(path.stem, ("\ufeff" if header.pop("bom", False) else "") + text, **header)
