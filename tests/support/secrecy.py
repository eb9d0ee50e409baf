"""What may stand in no log, and the search for it in every byte of them.

Secrets are what lets somebody in: API keys, the password of Redis, the provider's key.
Contents are what people, programs, models and functions put into jobs: exactly what an
erasure would take out of them, and what programs printed. Both are taken from the run that is
searched, so that whatever a test submits is looked for without being named here.
"""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING
from urllib.parse import quote

from vardy_worker.contracts.erasure import erased_record
from vardy_worker.contracts.job import JobFilter, JobRecord
from vardy_worker.contracts.plan import PlanBody
from vardy_worker.documents import read_catalogue
from vardy_worker.store.connection import connect
from vardy_worker.store.redis_documents import RedisDocuments
from vardy_worker.store.redis_jobs import RedisJobStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from vardy_worker.contracts.base import JsonValue

CHARACTERS_MIN = 10
"""A shorter text stands in logs by chance: a status, a number, a word of an event."""
CHARACTERS_SEARCHED = 32
"""The beginning of a longer text is enough, so that a log that cuts it off does not hide it."""
PAGE = 200

_ANY_KEY = re.compile(r"vk_[0-9A-HJKMNP-TV-Z]{26}_[A-Za-z0-9_-]{20,}", re.IGNORECASE)
_ANY_PASSWORD = re.compile(r"(?:rediss?|unix|https?)(?:\+\w+)?://[^/\s:@\"']*:(?!\*+@)[^/\s@\"']+@", re.IGNORECASE)
_NOT_CONTENTS = frozenset({"usage", "model", "code", "details", "calls"})
"""Fields that say how a job went: tokens, codes and names, which logs are for, too."""
_NAME = re.compile(
    r"(?:job|key|evt|err|vdy)_\w+|[0-9a-f]{64}|\d{4}-\d\d-\d\dT[\d:.+Z-]+|[\d.,+-]+|[a-z\d]+(?:[_.][a-z\d]+)+|[A-Z]+(?:_[A-Z]+)+"
)
"""Ids, digests, times, numbers, codes and names of statuses, fields and functions, which logs are for."""


@dataclass(frozen=True, slots=True)
class Leak:
    """Where something stands that must not. `what` never repeats it whole."""

    file: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}"


def strings(value: JsonValue) -> Iterator[str]:
    """Every text in a JSON value, keys of objects too, but for `_NOT_CONTENTS`."""
    match value:
        case str():
            yield value
        case dict():
            for key, item in value.items():
                yield key
                if key not in _NOT_CONTENTS:
                    yield from strings(item)
        case list() | tuple():
            for item in value:
                yield from strings(item)


@cache
def _field_names() -> frozenset[str]:
    """The names of fields and values that records are made of."""
    return frozenset(text for model in (JobRecord, PlanBody) for text in strings(model.model_json_schema()))


def contents_of(job: JobRecord) -> set[str]:
    """The texts of a job that nobody may read in a log."""
    kept = _field_names() | set(strings(erased_record(job, at_ms=0).model_dump(mode="json")))
    planned = json.loads(job.plan.text) if job.plan and job.plan.text else None
    found = {*strings(job.model_dump(mode="json")), *strings(planned)}
    return {text for text in found if text not in kept}


def contents_in(redis_url: str, namespace: str) -> set[str]:
    """The contents of every job of a deployment, and what their programs printed."""
    client = connect(redis_url)
    try:
        store = RedisJobStore(client, namespace)
        found: set[str] = set()
        for job_id in _job_ids(store):
            job, console = store.get(job_id), store.console(job_id)
            found |= contents_of(job) if job else set()
            found |= {line.text for line in console.lines} if console else set()
        names = {spec.name for spec in read_catalogue(RedisDocuments(client, namespace)).functions}
        return found - names
    finally:
        client.close()


def rows_in(database: Path) -> set[str]:
    """Every text that the demo shop's tables hold, but the keys and functions of what was applied."""
    with closing(sqlite3.connect(database)) as shop:
        tables = [name for (name,) in shop.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        held = [shop.execute(f"SELECT * FROM {table}").fetchall() for table in tables if table != "applied"]  # noqa: S608 - names that the database itself gave
    return {text for rows in held for row in rows for text in row if isinstance(text, str)}


def _job_ids(store: RedisJobStore) -> Iterator[str]:
    cursor: str | None = None
    while True:
        page = store.list_jobs(JobFilter(), cursor=cursor, limit=PAGE)
        yield from (item.id for item in page.items)
        cursor = page.next
        if cursor is None:
            return


def searched_for(contents: Iterable[str]) -> set[str]:
    """The beginnings of the lines of the texts, where they are long enough to mean something."""
    lines = {line.strip() for text in contents for line in text.splitlines()}
    telling = {line for line in lines if len(line) >= CHARACTERS_MIN and not _NAME.fullmatch(line)}
    return {line[:CHARACTERS_SEARCHED].strip() for line in telling}


def readings(text: str) -> set[str]:
    """A text as it may stand in a log: as it is, escaped once or twice, or as part of an address."""
    once = {json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], repr(text)[1:-1]}
    twice = {json.dumps(escaped)[1:-1] for escaped in once}
    return {reading.lower() for reading in {text, quote(text), *once, *twice}}


def leaks_in(paths: Iterable[Path], *, secrets: Iterable[str], contents: Iterable[str]) -> list[Leak]:
    """Every line of the files that holds a secret or a content, in any reading."""
    wanted = {reading: f"the secret {text[:6]}…" for text in secrets for reading in readings(text)}
    wanted |= {reading: f"the content {text[:16]!r}…" for text in searched_for(contents) for reading in readings(text)}
    found = set()
    for path in paths:
        text = path.read_bytes().decode("utf-8", "replace").lower()
        ends = [-1, *(place.start() for place in re.finditer("\n", text)), len(text)]
        places = [(place, what) for reading, what in wanted.items() for place in _places(text, reading)]
        places += [(match.start(), "an API key") for match in _ANY_KEY.finditer(text)]
        places += [(match.start(), "a password in an address") for match in _ANY_PASSWORD.finditer(text)]
        lines = list(pairwise(ends))
        for place, what in places:
            number = next(number for number, (_, end) in enumerate(lines, start=1) if place <= end)
            found.add(Leak(str(path), number, what))
    return sorted(found, key=lambda leak: (leak.file, leak.line, leak.what))


def _places(text: str, word: str) -> Iterator[int]:
    place = text.find(word)
    while place >= 0:
        yield place
        place = text.find(word, place + 1)
