"""Following the events of a job over HTTP, as the wire has them."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx


@dataclass(frozen=True)
class Told:
    """One event as it came. `view` is its `data`, parsed."""

    id: str
    type: str
    view: dict[str, Any]

    @property
    def status(self) -> str:
        found: str = self.view["data"].get("status", "")
        return found


class Follower:
    """One open stream. Comments are counted, everything else must be an event with id, type and data."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.comments = 0
        self.retry_ms = 0
        self._lines = response.iter_lines()

    def next(self) -> Told | None:
        """The next event; None at the end of the stream."""
        fields: dict[str, str] = {}
        for line in self._lines:
            if line.startswith(":"):
                self.comments += 1
            elif line:
                name, _, value = line.partition(": ")
                assert name not in fields
                fields[name] = value
            elif fields.keys() == {"retry"}:
                self.retry_ms = int(fields.pop("retry"))
            elif fields:
                return _told(fields)
        assert not fields, "the stream broke within an event"
        return None

    def take(self, count: int) -> list[Told]:
        """So many events, which must come."""
        found = [self.next() for _ in range(count)]
        assert None not in found
        return [told for told in found if told is not None]

    def rest(self) -> list[Told]:
        """All events up to the end of the stream."""
        return list(iter(self.next, None))

    def until(self, status: str) -> list[Told]:
        """The events up to the one that tells of this status."""
        found: list[Told] = []
        while not found or found[-1].status != status:
            found += self.take(1)
        return found


def _told(fields: dict[str, str]) -> Told:
    assert fields.keys() == {"id", "event", "data"}
    view = json.loads(fields["data"])
    assert view.keys() == {"id", "type", "at", "data"}
    assert (view["id"], view["type"]) == (fields["id"], fields["event"])
    return Told(fields["id"], fields["event"], view)


@contextmanager
def following(client: httpx.Client, job_id: str, *, last: str | None = None, **query: str) -> Iterator[Follower]:
    """A stream of the job, after the event with the id `last`, until the block ends; it must begin with 200."""
    headers = {} if last is None else {"Last-Event-ID": last}
    with client.stream("GET", f"/v1/jobs/{job_id}/events", params=query, headers=headers) as response:
        assert response.status_code == 200, response.read()
        assert response.headers["content-type"].startswith("text/event-stream")
        yield Follower(response)
