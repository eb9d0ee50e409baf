"""The active rules: read, applied, and tried over stored plans."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Query
from starlette.responses import Response

from vardy_api.http import examples
from vardy_api.http.answers import body
from vardy_api.http.auth import Authenticated, UseCases
from vardy_api.http.json_body import JsonRoute
from vardy_api.http.problems import problem_responses
from vardy_api.rule_shapes import RulesTest, RulesTestPage
from vardy_api.shapes import RulesPut, RulesView, rules_view
from vardy_worker.contracts.user import Scope

router = APIRouter(prefix="/v1/rules", tags=["rules"], route_class=JsonRoute)


@router.get("", response_model=RulesView, summary="Read the active rules", responses=problem_responses())
def read_rules(use: UseCases, caller: Authenticated) -> Response:
    """The rules file that every worker uses now; version 0 are the built-in rules."""
    caller.need(Scope.READ, Scope.DECIDE, Scope.OPERATE, Scope.ADMIN)
    return body(rules_view(use.rules.active()))


@router.put(
    "",
    response_model=RulesView,
    summary="Apply rules",
    responses=problem_responses(
        "request.malformed", "request.too_large", "auth.person", "rules.invalid", "rules.conflict"
    ),
)
def apply_rules(
    use: UseCases,
    caller: Authenticated,
    request: Annotated[RulesPut, Body(openapi_examples=examples.RULES)],
    dry_run: Annotated[bool, Query(description="Only check the file; nothing is applied.")] = False,
) -> Response:
    """Makes a rules file the active one. A bad file is refused whole, and the active rules stay.

    Rules whose content is active already are not applied again (`changed` is false).
    `warnings` tell of rules that hold and do nothing; they refuse nothing.
    """
    # Whoever sees the rules may ask whether others would hold.
    caller.need(*((Scope.READ, Scope.DECIDE, Scope.OPERATE, Scope.ADMIN) if dry_run else (Scope.ADMIN,)))
    warnings = use.rules.warnings(request.text)
    if dry_run:
        return body(rules_view(use.rules.check(request.text), dry_run=True, warnings=warnings))
    rules, changed = use.rules.put(
        caller, request.text, by=caller.actor(request.user), expect_version=request.expect_version
    )
    return body(rules_view(rules, changed=changed, warnings=warnings))


@router.post(
    "/test",
    response_model=RulesTestPage,
    summary="Try rules over stored plans",
    responses=problem_responses(
        "request.malformed",
        "request.too_large",
        "rules.invalid",
        "job.not_found",
        "plan.none",
        "plan.erased",
        "cursor.invalid",
    ),
)
def try_rules(
    use: UseCases, caller: Authenticated, request: Annotated[RulesTest, Body(openapi_examples=examples.RULES_TEST)]
) -> Response:
    """What a rules file would have said of plans that are stored, against what was said of them.

    One page of the newest visible jobs that match, or one `job`. Nothing is changed, and nothing applied.
    The plans are evaluated with the functions, and the totals of each user, as they are now.
    """
    return body(use.rule_tests.test(caller, request))
