"""The plan: ordered effects, its canonical bytes and the digest that names it."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Final

from vardy_worker.contracts.base import INT_SAFE_MAX, Contract, JsonObject, canonical_json, safe_integers
from vardy_worker.contracts.execution import EffectDraft, Ref

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAY_BE_LARGE: Final = re.compile(r"[0-9]{16}")


class Effect(Contract):
    """One recorded call of a write function, at position `seq` (from 0)."""

    seq: int
    function: str
    version: str
    args: JsonObject
    refs: tuple[Ref, ...] = ()


class PlanBody(Contract):
    """Exactly what the digest covers, and what is stored, shown and executed."""

    job_id: str
    revision: int
    program_sha256: str
    params_sha256: str
    rules_digest: str
    requester: str
    effects: tuple[Effect, ...]


class Plan(Contract):
    """A plan as stored: the canonical text and its SHA-256 in hex. The text is "" where it was erased."""

    digest: str
    text: str

    @property
    def is_intact(self) -> bool:
        """Whether the text still is what the digest names, and so what was approved."""
        return hashlib.sha256(self.text.encode()).hexdigest() == self.digest

    def body(self) -> PlanBody:
        """The effects, read back from the exact text that was hashed: the same values, and so the same text again."""
        if not _MAY_BE_LARGE.search(self.text):
            return PlanBody.model_validate_json(self.text)
        return PlanBody.model_validate(json.loads(self.text, parse_int=_number))


def _number(digits: str) -> int | float:
    """Canonical text writes floats from 2^53 to 10^21 with digits alone; integers so large are strings there."""
    value = int(digits)
    return value if -INT_SAFE_MAX <= value <= INT_SAFE_MAX else float(digits)


def make_plan(body: PlanBody) -> Plan:
    """The plan of a body: its RFC 8785 text and digest.

    Raises `rfc8785.CanonicalizationError` for NaN or Infinity.
    """
    # Python mode: the JSON mode of pydantic would turn NaN into null without a word.
    text = canonical_json(safe_integers(body.model_dump()))
    return Plan(digest=hashlib.sha256(text).hexdigest(), text=text.decode())


def number_effects(drafts: tuple[EffectDraft, ...]) -> tuple[Effect, ...]:
    """The recorded writes in order, with their positions."""
    return tuple(
        Effect(seq=seq, function=d.function, version=d.version, args=d.args, refs=d.refs)
        for seq, d in enumerate(drafts)
    )


def duplicates(effects: tuple[Effect, ...]) -> tuple[tuple[int, ...], ...]:
    """The groups of positions whose function, arguments and references are identical."""
    groups: dict[bytes, list[int]] = {}
    for effect in effects:
        key = canonical_json(effect.model_dump(mode="json", include={"function", "args", "refs"}))
        groups.setdefault(key, []).append(effect.seq)
    return tuple(tuple(seqs) for seqs in groups.values() if len(seqs) > 1)


def effects_named(seqs: Sequence[int]) -> str:
    """`effect 4`, `effects 4 and 7`, `effects 1, 3 and 20 to 24`; of ascending positions."""
    runs: list[list[int]] = []
    for seq in seqs:
        if runs and runs[-1][-1] == seq - 1:
            runs[-1].append(seq)
        else:
            runs.append([seq])
    parts: list[str] = []
    for run in runs:
        parts += [f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run)  # noqa: PLR2004 - two are named singly
    if len(seqs) == 1:
        return f"effect {parts[0]}"
    return f"effects {', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else f"effects {parts[0]}"
