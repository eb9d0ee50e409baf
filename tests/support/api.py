"""The whole API over memory stores, in this process, reached through httpx."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import httpx

from tests.support.factories import ANA, LEA, StillClock, effect, plan, policy, queued_job
from vardy_api.client import Vardy
from vardy_api.http.application import make_app
from vardy_api.operations.facade import Ports, make_operations
from vardy_api.shapes import KeyCreate
from vardy_worker.contracts.base import sha256_text
from vardy_worker.contracts.functions import Catalogue, FunctionKind, FunctionSpec
from vardy_worker.contracts.job import JobKind
from vardy_worker.contracts.policy import ApprovalNeed, RulesVersion, Verdict
from vardy_worker.contracts.program import Program
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import Scope
from vardy_worker.documents import CURRENT, RULES, publish_catalogue
from vardy_worker.ports import Change, Changed
from vardy_worker.rules import CelRules
from vardy_worker.settings import load_settings
from vardy_worker.store.feed import MemoryChangeFeed
from vardy_worker.store.memory_documents import MemoryDocuments, MemoryPresence
from vardy_worker.store.memory_jobs import MemoryJobStore
from vardy_worker.store.memory_key_uses import MemoryKeyUses
from vardy_worker.store.memory_queue import MemoryQueue
from vardy_worker.store.memory_rates import MemoryRates

if TYPE_CHECKING:
    from collections.abc import Callable

    from vardy_api.client import Decision
    from vardy_api.http.application import Api
    from vardy_api.shapes import Via
    from vardy_worker.contracts.job import JobRecord
    from vardy_worker.contracts.plan import Effect
    from vardy_worker.contracts.user import User
    from vardy_worker.contracts.view import JobView

BODY_BYTES_MAX = 64 * 1024
REFUND = FunctionSpec(
    name="refund_payment",
    kind=FunctionKind.WRITE,
    doc="Give money back for one payment.",
    input_schema={
        "type": "object",
        "properties": {"payment_id": {"type": "integer"}},
        "required": ["payment_id"],
        "additionalProperties": False,
    },
    output_schema={"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
    declaration="declare function refund_payment(args: {payment_id: number}): Promise<{id: number}>;",
    version="v1",
)
PAYMENTS = FunctionSpec(
    name="list_payments",
    kind=FunctionKind.READ,
    input_schema={"type": "object", "properties": {}, "additionalProperties": False},
    output_schema={"type": "array", "items": {"type": "integer"}},
    declaration="declare function list_payments(): Promise<number[]>;",
    version="v1",
)
SALARIES = PAYMENTS.model_copy(update={"name": "list_salaries", "roles": ("hr",)})
CATALOGUE = Catalogue(functions=(PAYMENTS, SALARIES, REFUND))


class LoopThread:
    """An event loop of its own thread: the application runs there, tests run outside."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()


class AppTransport(httpx.BaseTransport):
    """Carries blocking requests into the application's loop. `lose` makes the next answers disappear."""

    def __init__(self, app: Any, loop: LoopThread) -> None:
        self._inner = httpx.ASGITransport(app)
        self._loop = loop
        self.requests: list[httpx.Request] = []
        self.lose: list[Exception] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.requests.append(request)

        async def carry() -> httpx.Response:
            inner = httpx.Request(request.method, request.url, headers=request.headers, content=request.content)
            answer = await self._inner.handle_async_request(inner)
            return httpx.Response(answer.status_code, headers=answer.headers, content=await answer.aread())

        answer = asyncio.run_coroutine_threadsafe(carry(), self._loop.loop).result(timeout=30)
        if self.lose:
            raise self.lose.pop(0)
        return answer


class ApiWorld:
    """The application with its stores, and jobs led by hand where a worker would lead them."""

    def __init__(self, loop: LoopThread, **settings: Any) -> None:
        self.clock = StillClock()
        self.store = MemoryJobStore(self.clock)
        self.trail = self.store.audit
        self.documents = MemoryDocuments(self.trail)
        self.presence = MemoryPresence(self.clock)
        self.queue = MemoryQueue(self.clock)
        publish_catalogue(self.documents, CATALOGUE)
        ports = Ports(
            store=self.store,
            documents=self.documents,
            key_uses=MemoryKeyUses(),
            rates=MemoryRates(self.clock, self.documents),
            audit=self.trail,
            presence=self.presence,
            feed=MemoryChangeFeed(self.store),
            queue=self.queue,
            engine=CelRules(),
            clock=self.clock,
        )
        self.settings = load_settings(**{"request_bytes_max": BODY_BYTES_MAX, **settings})
        self.operations = make_operations(ports, self.settings)
        self.app = self.make_app()
        self.transport = AppTransport(self.app, loop)

    def make_app(self, **options: Any) -> Api:
        """The application with what is set, and with what is given here."""
        given = {
            "request_bytes_max": self.settings.request_bytes_max,
            "trusted_proxies": self.settings.trusted_proxies,
            "metrics_key_needed": self.settings.metrics_key_needed,
            **options,
        }
        return make_app(self.operations, **given)

    def token(self, *scopes: Scope, person: User | None = None, owner: str = "shop") -> str:
        """A new key's token; every scope unless some are named."""
        request = KeyCreate(owner=owner, scopes=scopes or tuple(Scope), person=person)
        return self.operations.keys.create(request)[1]

    def forget_function(self, name: str) -> None:
        """Publishes a catalogue without the function, as a worker of a newer release would."""
        left = tuple(spec for spec in CATALOGUE.functions if spec.name != name)
        publish_catalogue(self.documents, Catalogue(functions=left))

    def change_function(self, name: str, **changes: Any) -> None:
        """Publishes a catalogue in which the function has another version."""
        specs = [
            spec.model_copy(update={"version": f"{spec.version}-changed", **changes}) if spec.name == name else spec
            for spec in self.operations.catalogue.current().functions
        ]
        publish_catalogue(self.documents, Catalogue(functions=tuple(specs)))

    def break_rules(self) -> None:
        """Puts rules into the store that this release cannot read, as a newer one might."""
        rules = RulesVersion(version=1, digest="0" * 64, text="default: perhaps\n")
        self.documents.put(RULES, CURRENT, rules.model_dump(mode="json", exclude={"version"}))

    def http(self, token: str | None = None) -> httpx.Client:
        """A client with that key, or one with every scope; "" is no key at all."""
        given = self.token() if token is None else token
        headers = {"Authorization": f"Bearer {given}"} if given else {}
        return httpx.Client(base_url="http://vardy", headers=headers, transport=self.transport)

    def vardy(
        self,
        token: str | None = None,
        *,
        on_approval: Callable[[JobView], Decision | None] | None = None,
        via: Via = "api",
    ) -> Vardy:
        """The product's client; it never really pauses."""
        return Vardy(
            "http://vardy",
            api_key=self.token() if token is None else token,
            transport=self.transport,
            on_approval=on_approval,
            via=via,
            pause=self.clock.forward,
            now=self.clock.monotonic,
        )

    def job(self, status: Status = Status.QUEUED, **fields: Any) -> JobRecord:
        """A job of the owner `shop`, led to a status as a worker would; later statuses get a plan."""
        record = queued_job(created_at_ms=self.clock.now_ms())
        self.store.submit(record, None, due_at_ms=self.clock.now_ms())
        if status is not Status.QUEUED:
            self.move(record.id, Status.QUEUED, Status.RUNNING)
            self._lead(record, status, fields)
        found = self.store.get(record.id)
        assert found is not None
        return found

    def explore(self, status: Status = Status.RUNNING, **fields: Any) -> JobRecord:
        """An explore of the owner `shop` with these fields, in a status that a worker leads one to."""
        record = queued_job(kind=JobKind.EXPLORE, created_at_ms=self.clock.now_ms())
        self.store.submit(record, None, due_at_ms=self.clock.now_ms())
        self.move(record.id, Status.QUEUED, Status.RUNNING, fields)
        if status is not Status.RUNNING:
            self.move(record.id, Status.RUNNING, status)
        found = self.store.get(record.id)
        assert found is not None
        return found

    def _lead(self, record: JobRecord, status: Status, fields: dict[str, Any]) -> None:
        effects: tuple[Effect, ...] = fields.pop("effects", (effect(), effect(1)))
        verdict = fields.pop("verdict", Verdict.APPROVE)
        needs = fields.pop("needs", (ApprovalNeed(rule="a-rule"),))
        records = fields.pop("records", ())
        given = {
            "program": Program(source="async function run() {}", sha256=sha256_text("program")),
            "plan": plan(record.id, *effects),
            "revision": 1,
            "policy": policy(verdict, len(effects), *needs),
            "expires_at_ms": self.clock.now_ms() + 86_400_000,
            **fields,
        }
        if status in {Status.PARTIAL, Status.FUNCTION_ERROR, Status.COMMITTING}:
            self.move(record.id, Status.RUNNING, Status.COMMITTING, given, records)
            if status is not Status.COMMITTING:
                self.move(record.id, Status.COMMITTING, status)
        elif status is not Status.RUNNING:
            self.move(record.id, Status.RUNNING, status, given)

    def move(
        self,
        job_id: str,
        before: Status,
        after: Status,
        fields: dict[str, Any] | None = None,
        records: tuple[Any, ...] = (),
    ) -> None:
        """What a worker does: one change of status."""
        changed = self.store.change(Change(job_id, frozenset({before}), after, set=fields or {}, effects=records))
        assert isinstance(changed, Changed)


def approve(user: User = LEA) -> dict[str, Any]:
    """The body of an approval."""
    return {"decision": "approve", "user": user.model_dump()}


def run_body(**fields: Any) -> dict[str, Any]:
    """The body of a submission."""
    body = {"user": ANA.model_dump(), **fields}
    return body if "recipe" in body else {"request": "refund it", **body}


def explore_body(**fields: Any) -> dict[str, Any]:
    """The body of an explore."""
    return {"question": "who deserves attention?", "user": ANA.model_dump(), **fields}
