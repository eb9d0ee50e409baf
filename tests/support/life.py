"""The whole life of a job on real parts: an API, workers and their reconcilers, any of which may die.

Only model, sandbox and queue are fakes; time passes when the test says so. A process that
died is replaced: the person asks again, the next worker takes what is there.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, TypeVar, cast

from tests.support.fakes import Guest, PlayedSandbox, fenced
from tests.support.judge import JudgingModel, sorts
from tests.support.mortal import Died, Doom, Process
from tests.support.remote import Remote, remote_functions
from tests.support.worlds import MemoryWorld, RedisWorld
from vardy_api.operations.caller import Caller
from vardy_api.operations.facade import Ports, make_operations
from vardy_worker.active_rules import ActiveRules
from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.execution import ConsoleLine, Ref, Returned
from vardy_worker.contracts.model import ModelReply, ModelRequest, TokenUsage
from vardy_worker.contracts.recipe import Recipe
from vardy_worker.contracts.status import is_settled
from vardy_worker.contracts.user import ApiKey, Scope
from vardy_worker.documents import CURRENT, RECIPES, RULES, publish_catalogue
from vardy_worker.functions.runtime import FunctionRuntime
from vardy_worker.judge import ModelJudge
from vardy_worker.leases import LeaseKeeper
from vardy_worker.pipeline.commit import CommitPipeline
from vardy_worker.pipeline.run import RunPipeline
from vardy_worker.reconcile import Reconciler
from vardy_worker.rules import CelRules
from vardy_worker.settings import load_settings
from vardy_worker.store.keys import Keys
from vardy_worker.store.memory_documents import MemoryDocuments, MemoryPresence
from vardy_worker.store.memory_judge_cache import MemoryJudgeCache
from vardy_worker.store.memory_key_uses import MemoryKeyUses
from vardy_worker.store.memory_queue import MemoryQueue
from vardy_worker.store.memory_rates import MemoryRates
from vardy_worker.store.redis_audit import RedisAuditTrail
from vardy_worker.testing.one_by_one import OneByOne

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vardy_api.operations.facade import Operations
    from vardy_worker.contracts.execution import SandboxOutcome
    from vardy_worker.contracts.functions import Catalogue
    from vardy_worker.contracts.job import JobRecord, QueueName
    from vardy_worker.ports import AuditTrail, CallOutcome, Clock, FunctionCall, JobStore

T = TypeVar("T")

BEAT_SECONDS: Final = 2.0
"""How long every call of a function takes: long enough for the lease to be renewed, not to end."""
PAUSE_SECONDS: Final = 6.0
"""Between two looks for lost jobs: longer than a lease, and than a job that was looked at is hidden."""
ROUNDS_MAX: Final = 40
MOVED: Final = ["lease_until_ms", "not_before_ms", "expires_at_ms"]
"""The times of a record that the server or a process compares with the present."""
DONE_BEFORE: Final = frozenset({"job.conflict", "effect.not_unknown"})
"""What a request is answered that was carried out before the API died."""

RECIPE: Final = "orders"
"""A saved recipe with this program."""
SOURCE: Final = """async function run(params) {
  const orders = await count_orders({ city: "Porto" });
  const paid = await pay({ amount: 1 });
  await ring({ who: paid.id });
  await book({ day: 3 });
  return orders;
}"""


class Ground(Protocol):
    """Where lives are lived: a store and its time."""

    @property
    def store(self) -> JobStore: ...

    @property
    def audit(self) -> AuditTrail: ...

    @property
    def clock(self) -> Clock: ...

    def forward(self, seconds: float) -> None: ...


class MemoryGround(MemoryWorld):
    """The memory store; one still clock for everything."""

    @property
    def audit(self) -> AuditTrail:
        return self._store.audit

    @property
    def clock(self) -> Clock:
        return self._clock


class _MovedClock:
    """The server's time, which is this machine's and cannot be moved, and a monotonic one that can."""

    def __init__(self) -> None:
        self.moved = 0.0

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic() + self.moved


class RedisGround(RedisWorld):
    """A real server. What is stored is moved back, which is time passing for whoever looks at it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.clock = _MovedClock()
        self.audit = RedisAuditTrail(self.client, self.namespace)

    def forward(self, seconds: float) -> None:
        self.clock.moved += seconds
        earlier = -int(seconds * 1000)
        keys = Keys(self.namespace)
        for job_id in cast("list[bytes]", self.client.zrange(keys.due, 0, -1)):
            self.client.zincrby(keys.due, earlier, job_id)
        for job_id in cast("list[bytes]", self.client.zrange(keys.index("all"), 0, -1)):
            record = keys.job(job_id.decode())
            for name, stored in zip(MOVED, self.client.hmget(record, MOVED), strict=True):
                if stored is not None and stored.isdigit() and int(stored):
                    self.client.hincrby(record, name, earlier)


class LeasesByHand(LeaseKeeper):
    """Renews leases when the test says so, in the test's own thread."""

    def _run(self) -> None:
        return


class _LeisurelyHost:
    """The company's functions, each call of which takes a while, in which leases are renewed."""

    def __init__(self, life: Life, leases: LeaseKeeper) -> None:
        self._life = life
        self._leases = leases

    @property
    def exhausted(self) -> bool:
        return self._life.host.exhausted

    def catalogue(self) -> Catalogue:
        return self._life.host.catalogue()

    def check(self, *args: Any, **kwargs: Any) -> Any:
        return self._life.host.check(*args, **kwargs)

    def call_many(self, calls: Sequence[FunctionCall], **limits: Any) -> Sequence[CallOutcome]:
        self._life.ground.forward(BEAT_SECONDS)
        self._leases.beat()
        return self._life.host.call_many(calls, **limits)


READING: Final = """async function run(params) {
  return await count_orders({ city: "Porto" });
}"""
"""The program of every round of an explore."""
EXPLORED: Final = ("", fenced(READING), fenced(READING), fenced(READING))
"""What the model says in the rounds of an explore, before it answers: nothing at first."""
ROUNDS_ENDED: Final = ("generation.no_answer", "execution.thrown", "", "")
"""How those rounds end."""


class _Model(OneByOne):
    """Answers once with something that is no program, and then with one; a question after its rounds."""

    def complete(self, request: ModelRequest) -> ModelReply:
        if request.purpose == "explore":
            return ModelReply(text=_turn(request), model="fake/model", usage=TokenUsage(prompt_tokens=10))
        repaired = len(request.messages) > 2
        text = fenced(SOURCE) if repaired else "Let me think."
        return ModelReply(text=text, model="fake/model", usage=TokenUsage(prompt_tokens=7, cost_usd=0.1))


def _turn(request: ModelRequest) -> str:
    """What comes next; the answer from what the last summary says."""
    turn = sum(message.role == "assistant" for message in request.messages)
    if turn < len(EXPLORED):
        return EXPLORED[turn]
    seen = re.search(r'"orders":(\d+)', request.messages[-1].content)
    return f"{seen[1]} orders." if seen else "I saw none."


def pay_ring_book(guest: Guest) -> SandboxOutcome:
    """Reads, pays, rings for what was paid, books, and prints."""
    orders = cast("int", guest.value("count_orders", city="Porto"))
    paid = guest.effect("pay", amount=1)
    guest.effect("ring", refs=(Ref(at="/who", effect=paid, path="/id"),))
    guest.effect("book", day=3)
    return Returned(
        output={"orders": orders, "paid": None},
        output_refs=(Ref(at="/paid", effect=paid, path="/id"),),
        console=(ConsoleLine(level="log", text="paid"),),
    )


def len_of(text: str) -> str:
    """The label of a text: whether it is long or short."""
    return "long" if len(text) > 1 else "short"


class Worker:
    """One worker process: its pipelines, its leases and its reconciler end together."""

    def __init__(self, life: Life, name: str) -> None:
        process = Process(life.doom)
        store, queue = process.port(life.store), process.port(life.queue)
        leases = LeasesByHand(store, life.clock)
        shared: dict[str, Any] = {
            "store": store,
            "host": process.port(_LeisurelyHost(life, leases)),
            "rules": ActiveRules(life.documents, life.engine),
            "leases": leases,
            "clock": life.clock,
            "settings": life.settings,
            "worker": name,
        }
        sandbox = process.port(PlayedSandbox(life.run_program))
        model, judge = process.port(_Model()), process.port(life.judge)
        self._runs = RunPipeline(**shared, queue=queue, model=model, sandbox=sandbox, judge=judge)
        self._commits = CommitPipeline(**shared)
        self.reconciler = Reconciler(
            store=store,
            queue=queue,
            audit=process.port(life.ground.audit),
            presence=process.port(life.presence),
            clock=life.clock,
            settings=life.settings,
            worker=name,
        )

    def take(self, queue: QueueName, job_id: str) -> None:
        """One message."""
        if queue == "run":
            self._runs.run(job_id)
        else:
            self._commits.commit(job_id)


class Company:
    """The target, and the functions that reach it. Describing functions takes longer than a life, so lives share it."""

    def __init__(self) -> None:
        self.remote = Remote()
        self.host = FunctionRuntime(remote_functions(self.remote), threads=2)

    def __enter__(self) -> Self:
        self.host.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.host.stop()


@dataclass
class Life:
    """One deployment of a company, whose target is as new, and the job that is submitted to it.

    `redelivers`: the broker gives a message again whose worker died; otherwise it is lost.
    """

    ground: Ground
    company: Company
    doom: Doom = field(default_factory=Doom)
    redelivers: bool = True
    rules_text: str = "default: approve\n"
    play: Callable[[Guest], SandboxOutcome] = pay_ring_book
    job_id: str = ""

    def __post_init__(self) -> None:
        self.clock, self.store = self.ground.clock, self.ground.store
        self.documents = MemoryDocuments()
        self.presence = MemoryPresence(self.clock)
        self.queue = MemoryQueue(self.clock)
        self.engine = CelRules()
        self.settings = load_settings(model="fake/model", judge_model="fake/judge", approval_ttl_seconds=3600)
        self.judging = JudgingModel(sorts(len_of))
        cache = MemoryJudgeCache(self.clock)
        self.judge = ModelJudge(model=self.judging, cache=cache, clock=self.clock, settings=self.settings)
        self.remote, self.host = self.company.remote, self.company.host
        self.remote.reset()
        publish_catalogue(self.documents, self.host.catalogue())
        pinned = {spec.name: spec.version for spec in self.host.catalogue().functions}
        recipe = Recipe(name=RECIPE, source=SOURCE, functions=pinned, reviewed_by="rita")
        self.documents.put(RECIPES, RECIPE, recipe.model_dump(mode="json", exclude={"version"}))
        self.apply_rules(self.rules_text)
        self.workers = 0
        self.worker = self._next_worker()
        self.api = self._next_api()

    def _next_worker(self) -> Worker:
        self.workers += 1
        return Worker(self, f"w{self.workers}")

    def _next_api(self) -> Operations:
        process = Process(self.doom)
        feed: Any = None
        return make_operations(
            Ports(
                store=process.port(self.store),
                documents=self.documents,
                key_uses=MemoryKeyUses(),
                rates=MemoryRates(self.clock, self.documents),
                audit=self.ground.audit,
                presence=self.presence,
                # Nobody waits.
                feed=feed,
                queue=process.port(self.queue),
                engine=self.engine,
                clock=self.clock,
            ),
            self.settings,
        )

    @property
    def job(self) -> JobRecord:
        """The job as it is stored, whatever died."""
        found = self.store.get(self.job_id)
        assert found is not None
        return found

    def apply_rules(self, text: str) -> None:
        """Makes these the active rules."""
        digest = self.engine.load(text, self.host.catalogue()).digest
        self.documents.put(RULES, CURRENT, {"digest": digest, "text": text})

    def run_program(self, guest: Guest) -> SandboxOutcome:
        """The program that is played now."""
        return self.play(guest)

    def ask(self, act: Callable[[Operations], T]) -> T | None:
        """A person's request, made once more if the API died over it; None if it had been carried out by then."""
        try:
            return act(self.api)
        except Died:
            self.api = self._next_api()
        try:
            return act(self.api)
        except RequestError as error:
            if error.code not in DONE_BEFORE:
                raise
            return None

    def work(self) -> None:
        """Until nothing happens by itself any more: messages are taken, and between them lost jobs looked for."""
        for _ in range(ROUNDS_MAX):
            if self.take("run") or self.take("commit"):
                continue
            if is_settled(self.job.status):
                return
            self.ground.forward(PAUSE_SECONDS)
            self.look()
        raise AssertionError(f"{self.job.status} after {ROUNDS_MAX} rounds")

    def look(self) -> None:
        """One look for lost jobs."""
        try:
            self.worker.reconciler.look()
        except Died:
            self.worker = self._next_worker()

    def take(self, queue: QueueName) -> bool:
        """A worker takes the oldest message; False when there is none."""
        job_id = self.queue.take(queue)
        if job_id is None:
            return False
        try:
            self.worker.take(queue, job_id)
        except Died:
            self.worker = self._next_worker()
            if self.redelivers:
                self.queue.publish(queue, job_id)
        return True


def caller(owner: str = "shop", *scopes: Scope) -> Caller:
    """A key that may name any person; with every scope unless some are given."""
    key = ApiKey(id=f"key_{owner}", owner=owner, secret_sha256="", scopes=scopes or tuple(Scope), created_at_ms=0)
    return Caller(key)
