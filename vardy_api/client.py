"""The Python client: `Vardy`, which blocks, and `AsyncVardy` for asyncio.

Over HTTP, with typed results (`JobView` and the shapes of `vardy_api.shapes`) and
exceptions that mirror the problem types (`vardy_api.client_errors`). It loads no server
library. Each method is written once, as a flow in `client_jobs`, `client_decisions`,
`client_events`, `client_recipes`, `client_library` and `client_administration`; here the
flows become methods.
"""

from __future__ import annotations

from vardy_api.client_asyncio import AsyncClient
from vardy_api.client_blocking import BlockingClient
from vardy_api.client_flows import Decision
from vardy_api.client_methods import ClientFlows as Flows
from vardy_api.client_methods import awaiting, awaiting_iterator, blocking, blocking_iterator

__all__ = ["AsyncVardy", "Decision", "Vardy"]


class Vardy(BlockingClient):
    """A connection to one Vardy API. Threads may share it. Close it, or use it in `with`.

    `on_approval` is asked whenever a job that is waited for comes back `PENDING_APPROVAL`;
    None leaves it pending. All methods raise `VardyProblem` (its subclasses tell what
    kind), `Unreachable` after retries, and, where they wait, `WaitTimeout`. Arguments that
    no request can have raise `InvalidArguments`, before anything is sent.
    """

    run = blocking(Flows.run)
    explore = blocking(Flows.explore)
    get = blocking(Flows.get)
    wait = blocking(Flows.wait)
    list_jobs = blocking(Flows.list_jobs)
    iterate_jobs = blocking_iterator(Flows.iterate_jobs)
    plan = blocking(Flows.plan)
    console = blocking(Flows.console)
    journal = blocking(Flows.journal)
    attempts = blocking(Flows.attempts)
    erase = blocking(Flows.erase)
    erase_totals = blocking(Flows.erase_totals)

    commit = blocking(Flows.commit)
    approve = blocking(Flows.approve)
    deny = blocking(Flows.deny)
    commit_planned = blocking(Flows.commit_planned)
    cancel = blocking(Flows.cancel)
    requeue = blocking(Flows.requeue)
    discard = blocking(Flows.discard)
    resolve = blocking(Flows.resolve)

    events = blocking_iterator(Flows.events)

    recipes = blocking(Flows.recipes)
    recipe = blocking(Flows.recipe)
    recipe_versions = blocking(Flows.recipe_versions)
    recipe_difference = blocking(Flows.recipe_difference)
    save_recipe = blocking(Flows.save_recipe)
    review_recipe = blocking(Flows.review_recipe)
    delete_recipe = blocking(Flows.delete_recipe)

    check_program = blocking(Flows.check_program)
    functions = blocking(Flows.functions)
    rules = blocking(Flows.rules)
    apply_rules = blocking(Flows.apply_rules)
    check_rules = blocking(Flows.check_rules)
    test_rules = blocking(Flows.test_rules)
    prompt = blocking(Flows.prompt)
    queues = blocking(Flows.queues)
    health = blocking(Flows.health)

    keys = blocking(Flows.keys)
    key = blocking(Flows.key)
    create_key = blocking(Flows.create_key)
    revoke_key = blocking(Flows.revoke_key)
    change_key = blocking(Flows.change_key)
    rotate_key = blocking(Flows.rotate_key)
    usage = blocking(Flows.usage)
    audit = blocking(Flows.audit)
    verify_audit = blocking_iterator(Flows.verify_audit)
    export_audit = blocking_iterator(Flows.export_audit)


class AsyncVardy(AsyncClient):
    """`Vardy` for asyncio: the same methods, to be awaited. Close it, or use it in `async with`.

    Tasks of one event loop may share it; make one for the life of an application.
    `on_approval` may be a coroutine function. A cancelled task leaves nothing behind here;
    the job goes on.
    """

    run = awaiting(Flows.run)
    explore = awaiting(Flows.explore)
    get = awaiting(Flows.get)
    wait = awaiting(Flows.wait)
    list_jobs = awaiting(Flows.list_jobs)
    iterate_jobs = awaiting_iterator(Flows.iterate_jobs)
    plan = awaiting(Flows.plan)
    console = awaiting(Flows.console)
    journal = awaiting(Flows.journal)
    attempts = awaiting(Flows.attempts)
    erase = awaiting(Flows.erase)
    erase_totals = awaiting(Flows.erase_totals)

    commit = awaiting(Flows.commit)
    approve = awaiting(Flows.approve)
    deny = awaiting(Flows.deny)
    commit_planned = awaiting(Flows.commit_planned)
    cancel = awaiting(Flows.cancel)
    requeue = awaiting(Flows.requeue)
    discard = awaiting(Flows.discard)
    resolve = awaiting(Flows.resolve)

    events = awaiting_iterator(Flows.events)

    recipes = awaiting(Flows.recipes)
    recipe = awaiting(Flows.recipe)
    recipe_versions = awaiting(Flows.recipe_versions)
    recipe_difference = awaiting(Flows.recipe_difference)
    save_recipe = awaiting(Flows.save_recipe)
    review_recipe = awaiting(Flows.review_recipe)
    delete_recipe = awaiting(Flows.delete_recipe)

    check_program = awaiting(Flows.check_program)
    functions = awaiting(Flows.functions)
    rules = awaiting(Flows.rules)
    apply_rules = awaiting(Flows.apply_rules)
    check_rules = awaiting(Flows.check_rules)
    test_rules = awaiting(Flows.test_rules)
    prompt = awaiting(Flows.prompt)
    queues = awaiting(Flows.queues)
    health = awaiting(Flows.health)

    keys = awaiting(Flows.keys)
    key = awaiting(Flows.key)
    create_key = awaiting(Flows.create_key)
    revoke_key = awaiting(Flows.revoke_key)
    change_key = awaiting(Flows.change_key)
    rotate_key = awaiting(Flows.rotate_key)
    usage = awaiting(Flows.usage)
    audit = awaiting(Flows.audit)
    verify_audit = awaiting_iterator(Flows.verify_audit)
    export_audit = awaiting_iterator(Flows.export_audit)
