"""All use cases in one place, and how they are put together from ports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vardy_api.operations.admission import Admission
from vardy_api.operations.audit import AuditOperations
from vardy_api.operations.authentication import Authentication
from vardy_api.operations.catalogue import CatalogueReader
from vardy_api.operations.changes import Changes
from vardy_api.operations.commits import CommitOperations
from vardy_api.operations.decisions import DecisionOperations
from vardy_api.operations.erasure import ErasureOperations
from vardy_api.operations.held import HeldRequests
from vardy_api.operations.jobs import JobOperations
from vardy_api.operations.keys import KeyOperations
from vardy_api.operations.programs import ProgramOperations
from vardy_api.operations.prompts import PromptOperations
from vardy_api.operations.quotas import QuotaOperations
from vardy_api.operations.recipes import RecipeOperations
from vardy_api.operations.rule_tests import RuleTestOperations
from vardy_api.operations.rules import RuleOperations
from vardy_api.operations.service import ServiceOperations
from vardy_api.operations.submit import SubmitOperations
from vardy_worker.active_rules import ActiveRules

if TYPE_CHECKING:
    from vardy_worker.ports import (
        AuditTrail,
        ChangeFeed,
        Clock,
        Documents,
        JobStore,
        KeyUses,
        Presence,
        Queue,
        Rates,
        RuleEngine,
    )
    from vardy_worker.settings import Settings


@dataclass(frozen=True, slots=True)
class Ports:
    """What the use cases need of the outside."""

    store: JobStore
    documents: Documents
    key_uses: KeyUses
    rates: Rates
    audit: AuditTrail
    presence: Presence
    feed: ChangeFeed
    queue: Queue
    engine: RuleEngine
    clock: Clock


@dataclass(frozen=True, slots=True)
class Operations:
    """All use cases, by group."""

    jobs: JobOperations
    held: HeldRequests
    submit: SubmitOperations
    decisions: DecisionOperations
    commits: CommitOperations
    erasure: ErasureOperations
    programs: ProgramOperations
    recipes: RecipeOperations
    rules: RuleOperations
    rule_tests: RuleTestOperations
    catalogue: CatalogueReader
    prompts: PromptOperations
    authentication: Authentication
    admission: Admission
    keys: KeyOperations
    quotas: QuotaOperations
    audit: AuditOperations
    service: ServiceOperations


def make_operations(ports: Ports, settings: Settings) -> Operations:
    """The use cases over the given ports."""
    retain_seconds = settings.job_retention_seconds
    catalogue = CatalogueReader(ports.documents)
    jobs = JobOperations(ports.store, ports.clock, retain_seconds=retain_seconds)
    authentication = Authentication(ports.documents, ports.key_uses, ports.clock)
    changes = Changes(ports.store, ports.queue, jobs)
    keys = KeyOperations(ports.documents, ports.clock)
    quotas = QuotaOperations(ports.rates, ports.store, keys, ports.clock, deployment=settings.quotas)
    return Operations(
        jobs=jobs,
        held=HeldRequests(jobs, ports.store, ports.feed, authentication.recheck),
        submit=SubmitOperations(
            ports.store,
            ports.documents,
            ports.clock,
            catalogue=catalogue,
            jobs=jobs,
            changes=changes,
            quotas=quotas,
            limits=settings.limits,
        ),
        decisions=DecisionOperations(
            ports.store,
            changes,
            catalogue,
            ActiveRules(ports.documents, ports.engine),
            ports.clock,
            four_eyes=settings.four_eyes,
            approval_ttl_seconds=settings.approval_ttl_seconds,
            retain_seconds=retain_seconds,
        ),
        commits=CommitOperations(ports.store, jobs, changes, catalogue, ports.clock, retain_seconds=retain_seconds),
        erasure=ErasureOperations(ports.store, jobs, ports.clock),
        programs=ProgramOperations(catalogue, program_bytes_max=settings.limits.program_bytes_max),
        recipes=RecipeOperations(
            ports.documents, catalogue, jobs, ports.clock, program_bytes_max=settings.limits.program_bytes_max
        ),
        rules=RuleOperations(ports.documents, ports.engine, catalogue, ports.clock),
        rule_tests=RuleTestOperations(
            ports.store, jobs, ports.engine, catalogue, ports.clock, four_eyes=settings.four_eyes
        ),
        catalogue=catalogue,
        prompts=PromptOperations(catalogue, settings.limits),
        authentication=authentication,
        admission=Admission(authentication, quotas),
        keys=keys,
        quotas=quotas,
        audit=AuditOperations(ports.audit, ports.clock, keep_seconds=settings.audit_retention_seconds),
        service=ServiceOperations(ports.store, ports.queue, ports.presence, ports.clock),
    )
