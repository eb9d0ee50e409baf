"""The active rules: shown, checked, applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vardy_worker.contracts.audit import Action, AuditNote, Origin
from vardy_worker.contracts.errors import RequestError
from vardy_worker.contracts.policy import RulesVersion
from vardy_worker.contracts.user import Scope
from vardy_worker.documents import CURRENT, RULES, read_rules, rules_version
from vardy_worker.logs import get_logger

if TYPE_CHECKING:
    from vardy_api.operations.caller import Caller
    from vardy_api.operations.catalogue import CatalogueReader
    from vardy_worker.contracts.policy import RuleWarning
    from vardy_worker.ports import Clock, Documents, RuleEngine

TRIES_MAX = 20

log = get_logger(__name__)

_AT_START = Origin(via="api")
"""Where the rules of `VARDY_RULES` come from."""


class RuleOperations:
    """The use cases around rules. A file is refused whole or becomes a new version."""

    def __init__(self, documents: Documents, engine: RuleEngine, catalogue: CatalogueReader, clock: Clock) -> None:
        self._documents = documents
        self._engine = engine
        self._catalogue = catalogue
        self._clock = clock

    def active(self) -> RulesVersion:
        """The active rules; version 0 are the built-in ones."""
        rules = read_rules(self._documents)
        if rules.digest:
            return rules
        return rules.model_copy(update={"digest": self._engine.load(rules.text, self._catalogue.current()).digest})

    def check(self, text: str) -> RulesVersion:
        """What applying would make active, without doing it. Raises `RulesError` with every problem."""
        return RulesVersion(version=self.active().version, digest=self._digest(text), text=text)

    def warnings(self, text: str) -> tuple[RuleWarning, ...]:
        """What is certain about rules of the file that do nothing. Raises `RulesError` with every problem."""
        catalogue = self._catalogue.current()
        return self._engine.warnings(self._engine.load(text, catalogue), catalogue)

    def put(
        self, caller: Caller, text: str, *, by: str, expect_version: int | None = None
    ) -> tuple[RulesVersion, bool]:
        """Applies rules for a caller with the scope `admin`; see `apply`."""
        caller.need(Scope.ADMIN)
        return self.apply(text, by=by, expect_version=expect_version, origin=caller.origin)

    def apply(
        self, text: str, *, by: str, expect_version: int | None = None, origin: Origin = _AT_START
    ) -> tuple[RulesVersion, bool]:
        """The active rules afterwards, and whether they changed: rules of the same digest do not.

        Raises `RulesError` with every problem, and `rules.conflict` when other rules than
        `expect_version` are active.
        """
        digest = self._digest(text)
        for _ in range(TRIES_MAX):
            active = self.active()
            if expect_version is not None and active.version != expect_version:
                break
            if active.digest == digest:
                return active, False
            rules = RulesVersion(
                version=active.version + 1,
                digest=digest,
                text=text,
                applied_by=by,
                applied_at_ms=self._clock.now_ms(),
            )
            value = rules.model_dump(mode="json", exclude={"version"})
            noted = AuditNote(
                action=Action.RULES_APPLIED, at_ms=rules.applied_at_ms, by=by, origin=origin, digest=digest
            )
            stored = self._documents.put(RULES, CURRENT, value, expect_version=active.version, audit=[noted])
            if stored is not None:
                log.info("rules.applied", version=stored.version, digest=digest, by=by)
                return rules_version(stored), True
        raise RequestError(
            f"Version {active.version} of the rules is active by now; look at it first.",
            code="rules.conflict",
            details={"version": active.version},
        )

    def _digest(self, text: str) -> str:
        return self._engine.load(text, self._catalogue.current()).digest
