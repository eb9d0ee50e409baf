"""Whatever is done to the entries of a chain behind Vardy's back, the check finds it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.audit import check, note
from tests.support.factories import StillClock, queued_job
from vardy_api.cli.audit_comparing import Chains, Comparison
from vardy_worker.contracts.audit_chain import START, ChainCheck, Head, dump_entry, entry_hash
from vardy_worker.contracts.base import canonical_json, sha256_json
from vardy_worker.contracts.status import Status
from vardy_worker.ports import Change
from vardy_worker.store.memory_audit import MemoryAuditTrail
from vardy_worker.store.memory_jobs import MemoryJobStore

LENGTH = 6
VALUES: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers(-5, 2**40) | st.text(max_size=5) | st.just({}) | st.just(["x"])
)


class Chain:
    """One job's chain of six entries, some with a reason, in a memory store."""

    def __init__(self) -> None:
        self.store = MemoryJobStore(StillClock())
        job = queued_job()
        self.name = job.id
        self.store.submit(job, None, due_at_ms=0, audit=[note(at_ms=1)])
        for turn in range(LENGTH - 1):
            made = note(at_ms=turn + 2, reason="Why." if turn % 2 else "", details={"turn": turn})
            self.store.change(Change(job.id, frozenset(Status), audit=[made]))

    @property
    def trail(self) -> MemoryAuditTrail:
        return self.store.audit

    @property
    def entries(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.trail._chains[self.name]]

    def put(self, entries: list[dict[str, Any]]) -> None:
        self.trail._chains[self.name] = [dump_entry(entry) for entry in entries]

    def broken_at(self) -> int | None:
        broken = check(self.trail)[self.name].broken
        return None if broken is None else broken.n


FIELDS = sorted({name for entry in Chain().entries for name in entry})


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    value=st.recursive(
        VALUES | st.text() | st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**70), 2**70),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=8,
    )
)
def test_the_hash_is_that_of_the_canonical_form_whatever_an_entry_holds(value: Any) -> None:
    assert entry_hash({"details": value, "hash": "x", "text": "y", "place": "z"}) == sha256_json({"details": value})


def test_an_untouched_chain_holds() -> None:
    assert Chain().broken_at() is None


@settings(max_examples=300, deadline=None, derandomize=True)
@given(at=st.integers(0, LENGTH - 1), name=st.sampled_from([*FIELDS, "more"]), value=VALUES)
def test_every_edit_of_a_field_is_found_at_its_entry(at: int, name: str, value: Any) -> None:
    chain = Chain()
    entries = chain.entries
    edited = {**entries[at], name: value}
    if canonical_json(edited) == canonical_json(entries[at]):
        return
    entries[at] = edited
    chain.put(entries)
    if name == "text" and value is None:
        # That is how a text is erased.
        assert chain.broken_at() is None
        assert check(chain.trail)[chain.name].erased == ("text_sha256" in entries[at])
        return
    assert chain.broken_at() == at + 1


@pytest.mark.parametrize("at", range(LENGTH))
@pytest.mark.parametrize("rehashed", [False, True])
def test_every_edit_is_found_even_with_a_hash_that_fits(at: int, rehashed: bool) -> None:
    chain = Chain()
    entries = chain.entries
    entries[at] = {**entries[at], "by": "mallory"}
    if rehashed:
        entries[at]["hash"] = entry_hash(entries[at])
    chain.put(entries)
    # With a hash that fits it is the next entry that no longer follows, or the head.
    assert chain.broken_at() == (min(at + 2, LENGTH) if rehashed else at + 1)


@pytest.mark.parametrize("at", range(LENGTH))
def test_every_missing_entry_is_found(at: int) -> None:
    chain = Chain()
    entries = chain.entries
    del entries[at]
    chain.put(entries)
    assert chain.broken_at() == at + 1


@pytest.mark.parametrize("left", range(LENGTH))
def test_every_chain_that_was_cut_off_is_found(left: int) -> None:
    chain = Chain()
    chain.put(chain.entries[:left])
    assert chain.broken_at() == left + 1


@settings(max_examples=60, deadline=None, derandomize=True)
@given(order=st.permutations(range(LENGTH)))
def test_every_other_order_is_found(order: list[int]) -> None:
    chain = Chain()
    entries = chain.entries
    chain.put([entries[place] for place in order])
    first = next((place for place, entry in enumerate(order) if place != entry), None)
    assert chain.broken_at() == (None if first is None else first + 1)


@pytest.mark.parametrize("at", range(LENGTH + 1))
@pytest.mark.parametrize("fits", [False, True])
def test_every_entry_that_was_put_in_is_found(at: int, fits: bool) -> None:
    chain = Chain()
    entries = chain.entries
    forged = {**entries[min(at, LENGTH - 1)], "by": "mallory"}
    if fits:
        forged |= {"n": at + 1, "prev": entries[at - 1]["hash"] if at else ""}
        forged["hash"] = entry_hash(forged)
    chain.put([*entries[:at], forged, *entries[at:]])
    assert chain.broken_at() in {at + 1, at + 2}


def test_a_chain_that_is_gone_but_for_its_name_is_found() -> None:
    chain = Chain()
    del chain.trail._chains[chain.name]
    assert chain.broken_at() == 1


def test_an_entry_of_another_chain_is_found() -> None:
    chain, other = Chain(), Chain()
    entries = chain.entries
    entries[0] = other.entries[0]
    chain.put(entries)
    assert chain.broken_at() == 1


@pytest.mark.parametrize("line", [b"", b"[]", b"{", b"null", b'{"n": 1, "n": 1}', b"\xff", b"[" * 100_000])
def test_what_is_no_entry_is_found(line: bytes) -> None:
    chain = Chain()
    chain.trail._chains[chain.name][2] = line
    assert chain.broken_at() == 3


@settings(max_examples=100, deadline=None, derandomize=True)
@given(trimmed=st.integers(0, LENGTH - 1), gone=st.integers(0, LENGTH - 1))
def test_a_trimmed_chain_is_checked_from_its_anchor_on(trimmed: int, gone: int) -> None:
    entries = Chain().entries
    anchor = Head(trimmed, entries[trimmed - 1]["hash"]) if trimmed else START
    whole = ChainCheck(entries[0]["chain"], anchor)
    for entry in entries[trimmed:]:
        assert whole.add(entry) is None
    if gone < trimmed:
        return
    left = entries[trimmed:gone] + entries[gone + 1 :]
    cut = ChainCheck(entries[0]["chain"], anchor)
    for entry in left:
        cut.add(entry)
    cut.ends_at(Head(LENGTH, entries[-1]["hash"]))
    assert cut.broken is not None
    assert cut.broken.n == gone + 1


# --- against an earlier export ----------------------------------------------------------------


def compared(earlier: list[dict[str, Any]], later: list[dict[str, Any]], *, trimmed_before_ms: int = 0) -> list[str]:
    known = Chains()
    for line, entry in enumerate(earlier, start=1):
        known.add(entry, line)
    assert known.broken == []
    comparison = Comparison(known)
    for entry in later:
        comparison.look(entry)
    return [fault.message for fault in comparison.faults({}, trimmed_before_ms=trimmed_before_ms)]


def rewritten(entries: list[dict[str, Any]], at: int) -> list[dict[str, Any]]:
    """The chain as somebody makes it who can write every entry anew, with hashes that fit."""
    made: list[dict[str, Any]] = []
    for place, entry in enumerate(entries):
        new = {**entry, "prev": made[-1]["hash"] if made else ""}
        if place == at:
            new["by"] = "mallory"
        new["hash"] = entry_hash(new)
        made.append(new)
    return made


@settings(max_examples=100, deadline=None, derandomize=True)
@given(exported=st.integers(1, LENGTH), at=st.integers(0, LENGTH - 1), trimmed=st.integers(0, LENGTH - 1))
def test_a_chain_that_was_written_anew_differs_from_every_export_of_what_was_changed(
    exported: int, at: int, trimmed: int
) -> None:
    entries = Chain().entries
    anew = rewritten(entries, at)
    check_anew = ChainCheck(entries[0]["chain"])
    assert all(check_anew.add(entry) is None for entry in anew)
    found = compared(entries[:exported], anew[trimmed:], trimmed_before_ms=10**15)
    if at < exported and trimmed <= exported:
        assert any("written anew" in message for message in found)
    else:
        assert found == []


@pytest.mark.parametrize("exported", range(1, LENGTH + 1))
@pytest.mark.parametrize("left", range(LENGTH + 1))
def test_a_chain_that_was_cut_off_since_an_export_is_named(exported: int, left: int) -> None:
    entries = Chain().entries
    found = compared(entries[:exported], entries[:left])
    assert bool(found) is (left < exported)


@pytest.mark.parametrize("trimmed", range(LENGTH + 1))
def test_what_was_trimmed_by_age_is_no_fault_and_what_is_too_young_is_one(trimmed: int) -> None:
    entries = Chain().entries
    exported = 3
    assert compared(entries[:exported], entries[trimmed:], trimmed_before_ms=10**15) == []
    young = [{**entry, "at_ms": 10**14, "hash": "", "prev": ""} for entry in entries]
    young = rewritten(young, LENGTH)
    found = compared(young[:exported], young[trimmed:], trimmed_before_ms=10**13)
    assert bool(found) is (trimmed > exported)
