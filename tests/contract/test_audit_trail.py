"""The audit trail: appended with the change, in chains that can be checked, on both stores."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.audit import FROM, actions, check, entries, note
from tests.support.factories import queued_job
from tests.support.worlds import World, job_in, submitted
from vardy_api.operations import audit as audit_operations
from vardy_worker.contracts.audit import SETTINGS, Action, AuditFilter, AuditState
from vardy_worker.contracts.audit_chain import START, Head, entry_hash
from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.status import Status
from vardy_worker.ports import Change, Changed, Conflict, IdempotencyClaim, LogPart, Replayed, Submitted

if TYPE_CHECKING:
    from vardy_worker.contracts.job import JobRecord

COMMITTING = frozenset({Status.COMMITTING})
PENDING = frozenset({Status.PENDING_APPROVAL})
CLAIM = IdempotencyClaim(scope="shop", key="k", body_sha256="a" * 64)


def submitted_with_note(world: World, **fields: Any) -> JobRecord:
    now_ms = world.store.server_now_ms()
    job = queued_job(created_at_ms=now_ms)
    made = note(Action.JOB_SUBMITTED, at_ms=now_ms, **fields)
    assert world.store.submit(job, None, due_at_ms=now_ms, audit=[made]) == Submitted(job.id)
    return job


def noted(world: World, job: JobRecord, number: int = 1, **fields: Any) -> None:
    """Changes a job so many times, each with an entry."""
    for _ in range(number):
        made = note(at_ms=world.store.server_now_ms(), **fields)
        assert isinstance(world.store.change(Change(job.id, frozenset(Status), audit=[made])), Changed)


# --- with the change or not at all -----------------------------------------------------------


def test_a_submission_begins_the_chain_of_its_job(world: World) -> None:
    job = submitted_with_note(world, details={"kind": "run"})
    [entry] = entries(world.trail, job.id)
    assert (entry.chain, entry.n, entry.prev) == (job.id, 1, "")
    assert (entry.action, entry.by, entry.digest) == ("job.submitted", "lea", "d" * 64)
    assert (entry.via, entry.key_id, entry.address) == (FROM.via, FROM.key_id, FROM.address)
    assert (entry.before, entry.after) == (None, AuditState(status=Status.QUEUED, version=1))
    assert entry.details == {"kind": "run"}


def test_a_submission_that_was_made_before_leaves_no_second_entry(world: World) -> None:
    now_ms = world.store.server_now_ms()
    first, second = queued_job(created_at_ms=now_ms), queued_job(created_at_ms=now_ms)
    for job in (first, first):
        world.store.submit(job, CLAIM, due_at_ms=now_ms, audit=[note(at_ms=now_ms)])
    replayed = world.store.submit(second, CLAIM, due_at_ms=now_ms, audit=[note(at_ms=now_ms)])
    assert replayed == Replayed(first.id)
    assert len(entries(world.trail, first.id)) == 1
    assert entries(world.trail, second.id) == []
    assert list(check(world.trail)) == [first.id]


def test_an_entry_says_what_the_change_led_from_and_to(world: World) -> None:
    job = job_in(world.store, Status.PENDING_APPROVAL)
    made = note(at_ms=world.store.server_now_ms())
    world.store.change(Change(job.id, PENDING, Status.COMMITTING, audit=[made]))
    noted(world, job)
    first, second = entries(world.trail, job.id)
    assert first.before == AuditState(status=Status.PENDING_APPROVAL, version=job.version)
    assert first.after == second.before == AuditState(status=Status.COMMITTING, version=job.version + 1)
    assert second.after == AuditState(status=Status.COMMITTING, version=job.version + 2)


def test_a_refused_change_leaves_no_entry(world: World) -> None:
    job = job_in(world.store, Status.PENDING_APPROVAL)
    made = note(at_ms=world.store.server_now_ms())
    refused = (
        Change(job.id, COMMITTING, audit=[made]),
        Change(job.id, PENDING, expect_version=job.version + 1, audit=[made]),
        Change(job.id, PENDING, expect_fence=7, audit=[made]),
    )
    for change in refused:
        assert isinstance(world.store.change(change), Conflict)
    world.store.change(Change("job_none", PENDING, audit=[made]))
    assert entries(world.trail, job.id) == []
    assert check(world.trail) == {}


def test_a_change_without_notes_leaves_no_entry(world: World) -> None:
    job = job_in(world.store, Status.SUCCESS)
    assert entries(world.trail, job.id) == []


def test_several_notes_of_one_change_follow_each_other(world: World) -> None:
    job = submitted(world.store)
    now_ms = world.store.server_now_ms()
    made = [note(at_ms=now_ms, details={"place": place}) for place in range(3)]
    world.store.change(Change(job.id, frozenset({Status.QUEUED}), audit=made))
    found = entries(world.trail, job.id)
    assert [(entry.n, entry.details["place"]) for entry in found] == [(1, 0), (2, 1), (3, 2)]
    assert check(world.trail)[job.id].ok


def test_only_the_first_wish_to_cancel_leaves_an_entry(world: World) -> None:
    job = job_in(world.store, Status.COMMITTING)
    made = note(Action.JOB_CANCEL_REQUESTED, at_ms=world.store.server_now_ms())
    assert world.store.request_cancel(job.id, by="lea", audit=[made])
    assert world.store.request_cancel(job.id, by="leo", audit=[made])
    [entry] = entries(world.trail, job.id)
    assert entry.before == entry.after == AuditState(status=Status.COMMITTING, version=job.version)
    done = job_in(world.store, Status.SUCCESS)
    assert not world.store.request_cancel(done.id, by="lea", audit=[made])
    assert entries(world.trail, done.id) == []


def test_documents_note_in_the_chain_of_settings(world: World) -> None:
    now_ms = world.store.server_now_ms()
    saved = note(Action.RECIPE_SAVED, at_ms=now_ms, subject="remind")
    gone = note(Action.RECIPE_DELETED, at_ms=now_ms, subject="remind")
    documents = world.documents
    assert documents.put("recipes", "remind", {"v": 1}, audit=[saved])
    assert documents.put("recipes", "remind", {"v": 2}, expect_version=1, audit=[saved])
    assert documents.put("recipes", "remind", {"v": 2}, expect_version=1, audit=[saved]) is None
    assert documents.delete("recipes", "remind", audit=[gone])
    assert not documents.delete("recipes", "remind", audit=[gone])
    found = entries(world.trail, SETTINGS)
    assert [entry.action for entry in found] == ["recipe.saved", "recipe.saved", "recipe.deleted"]
    assert [(entry.before, entry.after) for entry in found] == [
        (AuditState(version=0), AuditState(version=1)),
        (AuditState(version=1), AuditState(version=2)),
        (AuditState(version=2), AuditState(version=0)),
    ]
    assert check(world.trail)[SETTINGS].ok


def test_writers_of_one_chain_at_once_lose_nothing_and_break_nothing(world: World) -> None:
    job = submitted_with_note(world)
    start = threading.Barrier(8)

    def write(number: int) -> None:
        start.wait()
        for turn in range(5):
            made = note(at_ms=world.store.server_now_ms(), subject=f"{number}-{turn}")
            world.store.change(Change(job.id, frozenset(Status), audit=[made]))
            world.documents.put("keys", f"{number}-{turn}", {}, audit=[made])

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wanted = {f"{number}-{turn}" for number in range(8) for turn in range(5)}
    own, shared = entries(world.trail, job.id)[1:], entries(world.trail, SETTINGS)
    assert {entry.subject for entry in own} == {entry.subject for entry in shared} == wanted
    assert (len(own), len(shared)) == (40, 40)
    versions = [(entry.before, entry.after) for entry in own]
    assert all(before.version + 1 == after.version for before, after in versions if before and after)
    assert all(found.ok for found in check(world.trail).values())


# --- the chain -------------------------------------------------------------------------------


def test_each_entry_holds_the_hash_of_the_one_before_it(world: World) -> None:
    job = submitted_with_note(world)
    noted(world, job, 4, reason="Because.")
    found = entries(world.trail, job.id)
    assert [entry.n for entry in found] == [1, 2, 3, 4, 5]
    assert [entry.prev for entry in found] == ["", *(entry.hash for entry in found[:-1])]
    for line in world.trail.chain(job.id, after=START, limit=10).lines:
        fields = json.loads(line)
        assert entry_hash(fields) == fields["hash"]


def test_a_part_of_a_chain_follows_the_entry_that_was_asked_for(world: World) -> None:
    job = submitted_with_note(world)
    noted(world, job, 4)
    found = entries(world.trail, job.id)
    second = Head(2, found[1].hash)
    part = world.trail.chain(job.id, after=second, limit=2)
    assert (part.before, part.is_last, part.is_known) == (second, False, True)
    assert [json.loads(line)["n"] for line in part.lines] == [3, 4]
    assert part.head == Head(5, found[-1].hash)
    assert world.trail.chain(job.id, after=second, limit=3).is_last
    nothing = world.trail.chain("job_none", after=START, limit=3)
    assert (nothing.before, nothing.lines, nothing.head, nothing.is_known) == (START, (), START, False)


def test_a_reason_stands_beside_what_the_hash_covers(world: World) -> None:
    job = submitted_with_note(world)
    noted(world, job, reason="Not wanted: „Ü“ 🙂")
    [_, entry] = entries(world.trail, job.id)
    assert entry.text is not None
    assert entry.text.reason == "Not wanted: „Ü“ 🙂"
    [_, line] = world.trail.chain(job.id, after=START, limit=10).lines
    without = json.loads(line) | {"text": None}
    assert entry_hash(without) == entry.hash
    assert "wanted" not in json.dumps(without)


@pytest.mark.parametrize("text", ["\x00\x1f\x7f", '"}{\\"', "\u2028\ufeff\u202e", "🙂" * 500, "null", "1e400"])
def test_whatever_people_type_is_kept_as_it_is(world: World, text: str) -> None:
    job = submitted_with_note(world, by=text, subject=text, details={"rule": text}, reason=text)
    [entry] = entries(world.trail, job.id)
    assert entry.text is not None
    assert (entry.by, entry.subject, entry.details, entry.text.reason) == (text, text, {"rule": text}, text)
    assert check(world.trail)[job.id].ok
    assert world.trail.page(AuditFilter(by=text), cursor=None, limit=1).items == (entry,)


def test_all_chains_are_checked_page_by_page(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [submitted_with_note(world) for _ in range(5)]
    noted(world, jobs[2], 11)
    world.documents.put("keys", "k", {}, audit=[note(at_ms=world.store.server_now_ms())])
    # Small enough that a chain is left in the middle and gone on with.
    monkeypatch.setattr(audit_operations, "CHECK_ENTRIES_MAX", 4)
    monkeypatch.setattr(audit_operations, "CHECK_BATCH", 3)
    found = check(world.trail, limit=2)
    assert list(found) == sorted([SETTINGS, *(job.id for job in jobs)])
    assert all(one.ok for one in found.values())
    assert [found[job.id].last for job in jobs] == [1, 1, 12, 1, 1]
    assert (found[jobs[2].id].first, found[jobs[2].id].head) == (1, entries(world.trail, jobs[2].id)[-1].hash)
    assert world.trail.count() == 6


# --- listing and log -------------------------------------------------------------------------


def test_entries_are_listed_newest_first_over_all_chains(world: World) -> None:
    first, second = submitted_with_note(world), submitted_with_note(world)
    noted(world, first)
    page = world.trail.page(AuditFilter(), cursor=None, limit=2)
    assert [(entry.chain, entry.n) for entry in page.items] == [(first.id, 2), (second.id, 1)]
    assert page.next is not None
    last = world.trail.page(AuditFilter(), cursor=page.next, limit=2)
    assert [(entry.chain, entry.n) for entry in last.items] == [(first.id, 1)]
    assert last.next is None


def everything(world: World, where: AuditFilter, *, limit: int) -> list[tuple[str, int]]:
    found = []
    cursor = None
    while True:
        page = world.trail.page(where, cursor=cursor, limit=limit)
        found += [(entry.chain, entry.n) for entry in page.items]
        cursor = page.next
        if cursor is None:
            return found


@pytest.mark.parametrize("limit", [1, 3, 50])
def test_pages_of_every_size_show_every_entry_once(world: World, limit: int) -> None:
    jobs = [submitted_with_note(world) for _ in range(3)]
    for turn in range(1, 4):
        for job in jobs:
            noted(world, job, turn)
    whole = everything(world, AuditFilter(), limit=limit)
    assert len(whole) == len(set(whole)) == 21
    assert sorted(whole) == sorted((job.id, n) for job in jobs for n in range(1, 8))
    one = everything(world, AuditFilter(chain=jobs[1].id), limit=limit)
    assert one == [(jobs[1].id, n) for n in range(7, 0, -1)]


def test_filters_narrow_together(world: World) -> None:
    now_ms = world.store.server_now_ms()
    job = submitted(world.store)
    for by, action, at_ms in (
        ("lea", Action.DECISION_APPROVE, now_ms - 2000),
        ('le"o', Action.DECISION_APPROVE, now_ms - 1000),
        ('le"o', Action.DECISION_DENY, now_ms),
        ("ana", Action.JOB_CANCELLED, now_ms + 1000),
    ):
        world.store.change(Change(job.id, frozenset(Status), audit=[note(action, at_ms=at_ms, by=by)]))

    def numbers(**where: Any) -> list[int]:
        pages = [world.trail.page(AuditFilter(chain=chain, **where), cursor=None, limit=10) for chain in (None, job.id)]
        assert pages[0] == pages[1]
        return [entry.n for entry in pages[0].items]

    assert numbers() == [4, 3, 2, 1]
    assert numbers(by='le"o') == [3, 2]
    assert numbers(action=Action.DECISION_APPROVE) == [2, 1]
    assert numbers(by='le"o', action=Action.DECISION_APPROVE) == [2]
    assert numbers(after_ms=now_ms - 1000) == [4, 3]
    assert numbers(before_ms=now_ms) == [2, 1]
    assert numbers(after_ms=now_ms - 1000, before_ms=now_ms + 1) == [3]
    assert numbers(by="nobody") == []
    assert everything(world, AuditFilter(chain="job_none"), limit=5) == []


def test_filters_by_time_find_entries_whatever_the_clock_of_their_writer_said(world: World) -> None:
    job, now_ms = submitted(world.store), world.store.server_now_ms()
    made = [note(at_ms=now_ms + minutes * 60_000, subject=str(minutes)) for minutes in (-4, 4)]
    world.store.change(Change(job.id, frozenset({Status.QUEUED}), audit=made))
    for where in (AuditFilter(before_ms=now_ms - 180_000), AuditFilter(after_ms=now_ms + 180_000)):
        page = world.trail.page(where, cursor=None, limit=10)
        assert [entry.subject for entry in page.items] == ["-4" if where.before_ms else "4"]


def test_times_before_1970_are_before_every_entry(world: World) -> None:
    submitted_with_note(world)
    assert world.trail.page(AuditFilter(before_ms=-62_135_596_800_000), cursor=None, limit=10).items == ()
    assert len(world.trail.page(AuditFilter(after_ms=-62_135_596_800_000), cursor=None, limit=10).items) == 1


def test_the_log_has_every_entry_in_order_of_recording_and_goes_on_after_any(world: World) -> None:
    jobs = [submitted_with_note(world) for _ in range(2)]
    for turn in range(3):
        noted(world, jobs[turn % 2])
    whole = world.trail.log(after="", limit=100).lines
    seen = [(json.loads(line.line)["chain"], json.loads(line.line)["n"]) for line in whole]
    assert seen == [(jobs[0].id, 1), (jobs[1].id, 1), (jobs[0].id, 2), (jobs[1].id, 2), (jobs[0].id, 3)]
    for at, line in enumerate(whole):
        rest = world.trail.log(after=line.place, limit=100)
        assert (rest.lines, rest.is_last, rest.after) == (whole[at + 1 :], True, whole[-1].place)
    first = world.trail.log(after="", limit=2)
    assert (first.lines, first.is_last, first.after) == (whole[:2], False, whole[1].place)
    assert world.trail.log(after=whole[-1].place, limit=2) == LogPart((), whole[-1].place, is_last=True)


@pytest.mark.parametrize("wrong", ["x", "1", "-", "1-", "1-1-1", "99999999999999999999-1", "\uff11-1"])
def test_a_place_that_is_none_is_refused(world: World, wrong: str) -> None:
    with pytest.raises(RequestError) as refused:
        world.trail.log(after=wrong, limit=1)
    assert refused.value.code == "cursor.invalid"


def test_a_cursor_that_is_none_is_refused(world: World) -> None:
    for chain in (None, "job_none"):
        with pytest.raises(RequestError) as refused:
            world.trail.page(AuditFilter(chain=chain), cursor="nonsense", limit=1)
        assert refused.value.code == "cursor.invalid"


# --- trimming --------------------------------------------------------------------------------

DAY_MS = 86_400_000


def test_trimming_keeps_what_the_rest_of_a_chain_goes_on_from(world: World) -> None:
    job = submitted_with_note(world)
    noted(world, job, 2)
    old = entries(world.trail, job.id)
    world.forward(86_400)
    noted(world, job, 2)
    assert world.trail.trim(older_than_ms=DAY_MS // 2, limit=100) == 3
    found = check(world.trail)[job.id]
    assert (found.ok, found.first, found.last) == (True, 4, 5)
    part = world.trail.chain(job.id, after=START, limit=10)
    assert part.before == Head(3, old[-1].hash)
    assert [entry.n for entry in entries(world.trail, job.id)] == [4, 5]
    assert everything(world, AuditFilter(), limit=1) == [(job.id, 5), (job.id, 4)]
    assert len(world.trail.log(after="", limit=10).lines) == 2
    assert 0 < world.trail.trimmed_before_ms() <= world.store.server_now_ms() - DAY_MS // 2
    noted(world, job)
    assert check(world.trail)[job.id].last == 6


def test_a_chain_of_a_job_that_is_there_goes_on_after_all_of_it_was_trimmed(world: World) -> None:
    job = submitted_with_note(world)
    world.documents.put("keys", "k", {}, audit=[note(at_ms=world.store.server_now_ms())])
    world.forward(86_400)
    assert world.trail.trim(older_than_ms=1000, limit=100) == 2
    assert {name: (one.ok, one.first, one.last) for name, one in check(world.trail).items()} == {
        job.id: (True, None, 1),
        SETTINGS: (True, None, 1),
    }
    noted(world, job)
    world.documents.put("keys", "k", {}, audit=[note(at_ms=world.store.server_now_ms())])
    assert [entry.n for chain in (job.id, SETTINGS) for entry in entries(world.trail, chain)] == [2, 2]
    assert all(one.ok for one in check(world.trail).values())


def test_a_chain_outlives_its_job_and_is_forgotten_when_its_last_entry_is_trimmed(world: World) -> None:
    job = submitted_with_note(world)
    made = note(at_ms=world.store.server_now_ms())
    world.store.change(Change(job.id, frozenset(Status), retain_seconds=60, audit=[made]))
    world.forward(86_400)
    assert world.store.get(job.id) is None
    assert actions(world.trail, job.id) == ["job.submitted", "decision.approve"]
    assert check(world.trail)[job.id].ok
    assert world.trail.trim(older_than_ms=1000, limit=1) == 1
    assert check(world.trail)[job.id].ok
    assert world.trail.trim(older_than_ms=1000, limit=1) == 1
    assert world.trail.trim(older_than_ms=1000, limit=1) == 0
    assert check(world.trail) == {}
    assert world.trail.count() == 0


def test_a_chain_without_entries_is_forgotten_with_its_job(world: World) -> None:
    job, kept = submitted_with_note(world), submitted_with_note(world)
    world.store.change(Change(job.id, frozenset(Status), retain_seconds=86_400))
    world.forward(3600)
    assert world.trail.trim(older_than_ms=1000, limit=100) == 2
    world.store.rebuild_due(grace_ms=0)
    assert world.trail.count() == 2, "the jobs are there, and their chains may go on"
    world.forward(86_400)
    assert world.store.get(job.id) is None
    world.store.rebuild_due(grace_ms=0)
    assert list(check(world.trail)) == [kept.id]


def test_nothing_young_is_trimmed(world: World) -> None:
    job = submitted_with_note(world)
    assert world.trail.trim(older_than_ms=DAY_MS, limit=100) == 0
    assert world.trail.trimmed_before_ms() == 0
    assert len(entries(world.trail, job.id)) == 1
