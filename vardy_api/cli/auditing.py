"""The audit trail checked from here: the live one by the API, exports by themselves, one against the other."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vardy_api.cli.audit_comparing import AuditVerdict, BrokenChain, Chains, Comparison, Span
from vardy_api.cli.exits import CommandError, usage_error
from vardy_api.cli.progress import shown_progress
from vardy_api.cli.shown import Shown
from vardy_api.cli.text import counted
from vardy_worker.contracts.audit_chain import Head, parse_entry
from vardy_worker.contracts.base import Contract
from vardy_worker.contracts.view import milliseconds

if TYPE_CHECKING:
    from vardy_api.cli.session import Session
    from vardy_api.shapes import TrailCheckPage

_LINE_START = b'{"place":'
"""How every line of an export begins: what was cut off elsewhere is no line of an export."""


class Exported(Contract):
    """What was written to a file. `place` is where a later export goes on."""

    file: str
    entries: int
    place: str


def verify(session: Session, *, chain: str | None, file: str | None, against: str | None) -> Shown:
    """Checks the live trail, or the export in `file`, and compares it with an earlier export."""
    earlier = None if against is None else _read(session, against)
    if earlier is not None and earlier.broken:
        message = f"The earlier export does not hold itself: {earlier.broken[0].message}"
        raise _broken(message, earlier.verdict(str(against)))
    if file is not None:
        verdict = _verify_file(session, file, earlier, against or "")
    else:
        verdict = _verify_live(session, chain, earlier, against or "")
    if verdict.ok:
        return Shown(verdict)
    first = verdict.broken[0]
    where = f"{first.chain}: " if first.chain else ""
    more = f" ({len(verdict.broken)} in all)" if len(verdict.broken) > 1 else ""
    return Shown(verdict, failure=_broken(f"The audit trail does not hold. {where}{first.message}{more}", verdict))


def _broken(message: str, verdict: AuditVerdict) -> CommandError:
    details = {"broken": len(verdict.broken)}
    return CommandError(message, code="audit.broken", title="The audit trail does not hold", details=details)


def _verify_file(session: Session, file: str, earlier: Chains | None, against: str) -> AuditVerdict:
    seen = Comparison(earlier or Chains())
    found = _read(session, file, seen)
    return found.verdict(file, seen.faults({}, trimmed_before_ms=0), against=against)


def _verify_live(session: Session, chain: str | None, earlier: Chains | None, against: str) -> AuditVerdict:
    broken: list[BrokenChain] = []
    spans: dict[str, Span] = {}
    chains = entries = erased = trimmed_before_ms = 0
    with shown_progress(session, "check") as advance:
        for page in session.client.verify_audit(chain):
            for item in page.items:
                chains += 1
                entries += 0 if item.first is None else item.last - item.first + 1
                erased += item.erased
                if item.broken is not None:
                    broken.append(BrokenChain(chain=item.chain, **item.broken.model_dump()))
                if earlier is not None and item.chain in earlier.checks:
                    spans[item.chain] = Span(Head(item.last, item.head), is_empty=item.first is None)
            trimmed_before_ms = _trimmed_ms(page)
            advance(len(page.items), 1 if chain else page.chains)
    if earlier is not None:
        seen = Comparison(earlier)
        with shown_progress(session, "compare") as advance:
            for line in session.client.export_audit():
                seen.look(parse_entry(line))
                advance(1, entries)
        named = {item.chain for item in broken}
        faults = seen.faults(spans, trimmed_before_ms=trimmed_before_ms)
        broken += [item for item in faults if item.chain not in named]
    return AuditVerdict(
        source="live",
        against=against,
        ok=not broken,
        chains=chains,
        entries=entries,
        erased=erased,
        broken=tuple(broken),
    )


def _trimmed_ms(page: TrailCheckPage) -> int:
    return 0 if page.trimmed_before is None else milliseconds(page.trimmed_before)


def _read(session: Session, file: str, seen: Comparison | None = None) -> Chains:
    """The chains of an export. Raises `CommandError` for a file that cannot be read."""
    chains = Chains()
    try:
        with Path(file).open("rb") as stream, shown_progress(session, "bytes read") as advance:
            size = Path(file).stat().st_size
            for number, line in enumerate(stream, start=1):
                fields = parse_entry(line)
                chains.add(fields, number)
                if seen is not None:
                    seen.look(fields)
                advance(len(line), size)
    except OSError as error:
        raise usage_error(f"{file} cannot be read: {error.strerror}.") from error
    if not chains.entries and not chains.broken:
        raise usage_error(f"{file} has no entries, so nothing can be checked with it.")
    return chains


def export(session: Session, *, to: str, append: bool) -> Shown:
    """Writes the trail to a file, or what came since the last line of a file that is there."""
    path = Path(to)
    try:
        place = _last_place(path) if append and path.exists() else ""
        lines = session.client.export_audit(after=place)
        # Asked for first: a refusal leaves no empty file, which the next try would not go on with.
        first = next(lines, None)
        with path.open("ab" if append else "xb") as stream, shown_progress(session, "export") as advance:
            entries = 0
            for line in chain(() if first is None else (first,), lines):
                stream.write(line + b"\n")
                entries += 1
                place = str(json.loads(line)["place"])
                advance(1, None)
    except FileExistsError as error:
        raise usage_error(f"{to} is there already; add --append to go on with it.") from error
    except OSError as error:
        raise usage_error(f"{to} cannot be written: {error.strerror}.") from error
    return Shown(Exported(file=to, entries=entries, place=place))


def _last_place(path: Path) -> str:
    """The place of the last whole line; a line that was cut off is taken away, to be written again."""
    place, end = "", 0
    with path.open("rb+") as stream:
        for line in stream:
            fields: Any = parse_entry(line) or {}
            is_cut = not line.endswith(b"\n")
            if is_cut and line.startswith(_LINE_START[: len(line)]):
                break
            if is_cut or not isinstance(fields.get("place"), str):
                raise usage_error(f"{path} is no export of an audit trail: a line has no place.")
            place, end = fields["place"], end + len(line)
        stream.truncate(end)
    return place


def summary(verdict: AuditVerdict) -> str:
    """The verdict in one sentence."""
    what = f"{counted(verdict.entries, 'entry', 'entries')} in {counted(verdict.chains, 'chain')}"
    held = f"and hold what {verdict.against} has" if verdict.against else "unbroken"
    erased = f"; {verdict.erased} with their text erased" if verdict.erased else ""
    return f"{what}, {held}{erased}." if verdict.ok else f"{what}, {len(verdict.broken)} broken{erased}."
