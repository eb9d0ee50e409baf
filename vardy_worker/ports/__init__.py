"""The ports: what the stages and use cases need of the outside, small enough to fake in 50 lines.

All are synchronous: the worker runs each job in a thread, and the API calls the store
in its thread pool. Only `ChangeFeed` is asynchronous, so that waiting costs no thread.
"""

from vardy_worker.ports.audit import AuditTrail, ChainPart, LogLine, LogPart
from vardy_worker.ports.clock import Clock
from vardy_worker.ports.documents import Document, DocumentPage, Documents, Presence, WorkerSeen
from vardy_worker.ports.feed import ChangeFeed
from vardy_worker.ports.functions import (
    BadArguments,
    CallFailed,
    CallOk,
    CallOutcome,
    CallUnknown,
    FunctionCall,
    FunctionHost,
    GoodArguments,
)
from vardy_worker.ports.jobs import (
    KEEP,
    Change,
    Changed,
    Claimed,
    Conflict,
    DueJob,
    IdempotencyClaim,
    JobStore,
    Keep,
    KeyReused,
    Missing,
    NotClaimed,
    Replayed,
    Seen,
    Submitted,
)
from vardy_worker.ports.judge import Judge, JudgeCache
from vardy_worker.ports.keys import KeyUses
from vardy_worker.ports.model import Model
from vardy_worker.ports.queue import Queue
from vardy_worker.ports.rates import Outdated, Rates
from vardy_worker.ports.rules import PlanFacts, RuleEngine
from vardy_worker.ports.sandbox import Sandbox

__all__ = [
    "KEEP",
    "AuditTrail",
    "BadArguments",
    "CallFailed",
    "CallOk",
    "CallOutcome",
    "CallUnknown",
    "ChainPart",
    "Change",
    "ChangeFeed",
    "Changed",
    "Claimed",
    "Clock",
    "Conflict",
    "Document",
    "DocumentPage",
    "Documents",
    "DueJob",
    "FunctionCall",
    "FunctionHost",
    "GoodArguments",
    "IdempotencyClaim",
    "JobStore",
    "Judge",
    "JudgeCache",
    "Keep",
    "KeyReused",
    "KeyUses",
    "LogLine",
    "LogPart",
    "Missing",
    "Model",
    "NotClaimed",
    "Outdated",
    "PlanFacts",
    "Presence",
    "Queue",
    "Rates",
    "Replayed",
    "RuleEngine",
    "Sandbox",
    "Seen",
    "Submitted",
    "WorkerSeen",
]
