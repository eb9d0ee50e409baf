"""Notes, and what the audit trail has of a chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.support.factories import LEA
from vardy_api.operations.audit import AuditOperations
from vardy_api.operations.caller import Caller
from vardy_worker.clock import SystemClock
from vardy_worker.contracts.audit import Action, AuditEntry, AuditFilter, AuditNote, Origin
from vardy_worker.contracts.user import ApiKey, Scope

if TYPE_CHECKING:
    from vardy_api.shapes import ChainCheckView
    from vardy_worker.ports import AuditTrail

FROM = Origin(via="cli", key_id="key_1", address="10.1.2.3")
AUDITOR = Caller(ApiKey(id="key_a", owner="audit", secret_sha256="0" * 64, scopes=(Scope.ADMIN,), created_at_ms=0))


def note(action: Action = Action.DECISION_APPROVE, *, at_ms: int, **fields: Any) -> AuditNote:
    given = {"action": action, "at_ms": at_ms, "by": LEA.id, "origin": FROM, "digest": "d" * 64, **fields}
    return AuditNote(**given)


def entries(trail: AuditTrail, chain: str) -> list[AuditEntry]:
    """All entries of a chain, oldest first."""
    return list(trail.page(AuditFilter(chain=chain), cursor=None, limit=10_000).items)[::-1]


def actions(trail: AuditTrail, chain: str) -> list[str]:
    return [entry.action for entry in entries(trail, chain)]


def check(trail: AuditTrail, *, limit: int = 200) -> dict[str, ChainCheckView]:
    """Every chain as the check finds it, page by page."""
    operations = AuditOperations(trail, SystemClock(), keep_seconds=60)
    found: dict[str, ChainCheckView] = {}
    cursor = None
    while True:
        page = operations.check(AUDITOR, chain=None, cursor=cursor, limit=limit)
        found |= {item.chain: item for item in page.items}
        cursor = page.next
        if cursor is None:
            return found
