"""The API on a real server: its store, its keys, and jobs that a test leads as a worker would."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Self

import httpx

from tests.support.serving import served
from tests.support.worlds import submitted
from vardy_api.bootstrap import build_api
from vardy_api.operations.keys import KeyOperations
from vardy_api.shapes import KeyCreate
from vardy_worker.clock import SystemClock
from vardy_worker.contracts.events import Event
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import Scope
from vardy_worker.ports import Change, Changed
from vardy_worker.settings import load_settings
from vardy_worker.store.connection import connect
from vardy_worker.store.redis_documents import RedisDocuments
from vardy_worker.store.redis_jobs import RedisJobStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from tests.support.serving import Served
    from vardy_worker.contracts.user import ApiKey


class LiveApi:
    """One deployment. Ends everything that was opened through it with its block."""

    def __init__(self, redis_url: str, namespace: str) -> None:
        self.settings = load_settings(
            redis_url=redis_url, namespace=namespace, key_requests_per_minute=0, user_requests_per_minute=0
        )
        self._open = ExitStack()
        client = connect(redis_url)
        self._open.callback(client.close)
        self.store = RedisJobStore(client, namespace)
        self._keys = KeyOperations(RedisDocuments(client, namespace), SystemClock())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._open.close()

    @contextmanager
    def served(self) -> Iterator[Served]:
        """One more process of the API, in this one."""
        with served(build_api(self.settings)) as server:
            yield server

    def key(self, *scopes: Scope, owner: str = "shop") -> tuple[ApiKey, str]:
        """A new key with every scope unless some are named, and its token."""
        return self._keys.create(KeyCreate(owner=owner, scopes=scopes or tuple(Scope)))

    def http(self, url: str, token: str | None = None) -> httpx.Client:
        """A client with that key, or one with every scope."""
        headers = {"Authorization": f"Bearer {token or self.key()[1]}"}
        return self._open.enter_context(httpx.Client(base_url=url, headers=headers, timeout=30))

    def job(self, *statuses: Status) -> str:
        """A queued job, led through these statuses."""
        job_id = submitted(self.store, owner="shop").id
        for before, after in zip((Status.QUEUED, *statuses), statuses, strict=False):
            self.move(job_id, before, after)
        return job_id

    def move(self, job_id: str, before: Status, after: Status, **change: Any) -> None:
        """What a worker does: one change of status."""
        assert isinstance(self.store.change(Change(job_id, frozenset({before}), after, **change)), Changed)

    def tell(self, job_id: str, status: Status, *data: dict[str, Any]) -> None:
        """Events of effects, while the status stays."""
        events = [Event(type="effect", data=each, at_ms=0) for each in data]
        assert isinstance(self.store.change(Change(job_id, frozenset({status}), events=events)), Changed)
