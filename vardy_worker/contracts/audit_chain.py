"""How entries of the audit trail are linked, and how a chain is checked. Pure.

Checks work on entries as they were stored, as JSON objects: a field that a newer Vardy adds
is covered by the hash as well, so an older one can still check it.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rfc8785 import CanonicalizationError

from vardy_worker.contracts.base import INT_SAFE_MAX, Contract, JsonObject, JsonValue, sha256_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vardy_worker.contracts.audit import AuditNote, AuditState

BESIDE: Final = frozenset({"hash", "text", "place"})
"""What the hash of an entry does not cover. `place` is where an export found it."""


@dataclass(frozen=True, slots=True)
class Head:
    """The newest entry of a chain, or the last one before a certain place."""

    n: int = 0
    hash: str = ""


START: Final = Head()
"""Before the first entry."""


def entry_hash(fields: JsonObject) -> str:
    """The hash of an entry. Raises `ValueError` for what has no canonical form."""
    return _hash({name: value for name, value in fields.items() if name not in BESIDE})


def _hash(fields: JsonObject) -> str:
    try:
        if _is_plain(fields):
            return hashlib.sha256(dump_entry(fields)).hexdigest()
        return sha256_json(fields)
    except (CanonicalizationError, UnicodeEncodeError, RecursionError) as error:
        msg = "it has no canonical form"
        raise ValueError(msg) from error


def _is_plain(value: JsonValue) -> bool:
    """Whether `dump_entry` writes the canonical form already, several times faster than the general way.

    The two differ in how numbers other than safe integers are written, and in how names
    beyond ASCII are ordered.
    """
    if isinstance(value, str) or value is None or value is True or value is False:
        return True
    if type(value) is int:
        return -INT_SAFE_MAX <= value <= INT_SAFE_MAX
    if isinstance(value, dict):
        return all(name.isascii() and _is_plain(item) for name, item in value.items())
    return isinstance(value, list) and all(map(_is_plain, value))


def next_entries(
    chain: str, notes: Iterable[AuditNote], head: Head, *, before: AuditState | None, after: AuditState | None
) -> list[JsonObject]:
    """The entries that follow `head`, ready to be stored. Fields that are empty are left out."""
    states = {"before": _state(before), "after": _state(after)}
    entries = []
    for note in notes:
        text = {"reason": note.reason, "salt": secrets.token_hex(16)} if note.reason else None
        told = {
            "action": note.action.value,
            "by": note.by,
            "via": note.origin.via,
            "key_id": note.origin.key_id,
            "address": note.origin.address,
            "subject": note.subject,
            "digest": note.digest,
            "details": note.details,
            "text_sha256": _hash(text) if text else "",
            **states,
        }
        fields: JsonObject = {
            "chain": chain,
            "n": head.n + 1,
            "at_ms": note.at_ms,
            **{name: value for name, value in told.items() if value},
            "prev": head.hash,
        }
        fields["hash"] = entry_hash(fields)
        if text:
            fields["text"] = text
        head = Head(head.n + 1, fields["hash"])
        entries.append(fields)
    return entries


def _state(state: AuditState | None) -> JsonObject | None:
    return None if state is None else state.model_dump(mode="json", exclude_none=True)


def dump_entry(fields: JsonObject) -> bytes:
    """An entry as one line of JSON: the canonical form, as long as it is made of plain values."""
    return json.dumps(fields, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")).encode()


def without_text(fields: JsonObject) -> JsonObject | None:
    """The entry once what was typed is erased, which its hash does not cover; None where nothing stands there."""
    return None if fields.get("text") is None else fields | {"text": None}


def parse_entry(line: bytes | str) -> JsonObject | None:
    """An entry from its line; None for what is no JSON object, or says the same name twice."""
    try:
        fields = json.loads(line, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None


def _unique(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    found = dict(pairs)
    if len(found) != len(pairs):
        msg = "the same name twice"
        raise ValueError(msg)
    return found


class BrokenEntry(Contract):
    """The first entry of a chain that does not hold. `n` is the number it should have."""

    n: int
    message: str


class ChainCheck:
    """Checks one chain, entry by entry, from a known place on.

    `head` is the last entry that holds; after the first one that does not, nothing more is
    judged. Without `start` the first entry that comes is taken at its word for what came
    before it, as in an export of a chain whose oldest entries were trimmed.
    """

    def __init__(self, chain: str, start: Head | None = START) -> None:
        self.chain = chain
        self.head = start
        self.first: int | None = None
        self.erased = 0
        self.broken: BrokenEntry | None = None

    def add(self, fields: JsonObject | None) -> BrokenEntry | None:
        """Checks the next entry, where None is one that cannot be read; returns what is broken by now."""
        if self.broken is not None:
            return self.broken
        expected = self._expected(fields)
        message = "it is not a JSON object" if fields is None else self._fault(fields, expected)
        if message or fields is None:
            self.broken = BrokenEntry(n=expected.n + 1, message=f"Entry {expected.n + 1}: {message}.")
            return self.broken
        if self.first is None:
            self.first = fields["n"]
        self.erased += bool(fields.get("text_sha256")) and fields.get("text") is None
        self.head = Head(fields["n"], fields["hash"])
        return None

    def ends_at(self, head: Head) -> None:
        """Says which entry must be the newest: others were cut off, or put behind it."""
        if self.broken is not None:
            return
        last = self.head or START
        if last.n < head.n:
            message = f"it is missing; the chain had {head.n} entries"
            self.broken = BrokenEntry(n=last.n + 1, message=f"Entry {last.n + 1}: {message}.")
        elif last != head:
            message = f"the chain ended before it, at entry {head.n}" if last.n > head.n else "another one stood here"
            self.broken = BrokenEntry(n=last.n, message=f"Entry {last.n}: {message}.")

    def _expected(self, fields: JsonObject | None) -> Head:
        """What the next entry must follow."""
        if self.head is not None:
            return self.head
        n, prev = (fields or {}).get("n"), (fields or {}).get("prev")
        if type(n) is int and n > 1 and isinstance(prev, str) and prev:
            return Head(n - 1, prev)
        return START

    def _fault(self, fields: JsonObject, expected: Head) -> str:
        n, own = fields.get("n"), fields.get("hash")
        if fields.get("chain") != self.chain:
            return "it belongs to another chain"
        if type(n) is not int:
            return "it has no number"
        if n != expected.n + 1:
            return f"entry {n} stands in its place"
        if fields.get("prev") != expected.hash:
            return "it does not follow the entry before it"
        try:
            if entry_hash(fields) != own:
                return "it was changed: its hash is another one"
            return _text_fault(fields.get("text"), fields.get("text_sha256", ""))
        except ValueError as error:
            return str(error)


def _text_fault(text: JsonValue, bound: JsonValue) -> str:
    if not isinstance(bound, str):
        return "it does not say what binds its text"
    if text is None:
        return ""
    if not isinstance(text, dict) or _hash(text) != bound:
        return "its text was changed"
    return ""
