"""Both clients have the same methods, which look like ordinary ones to people and tools."""

from __future__ import annotations

import inspect
import pydoc

import pytest

from vardy_api.client import Vardy
from vardy_api.client_asyncio import AsyncVardy
from vardy_api.client_methods import ClientFlows

FLOWS = {name: flow for name, flow in inspect.getmembers(ClientFlows, inspect.isfunction) if not name.startswith("_")}
ITERATORS = {"iterate_jobs", "events", "verify_audit", "export_audit"}
RESULTS = {
    "run": "JobView",
    "wait": "JobView",
    "erase_totals": "None",
    "keys": "tuple[KeyView, ...]",
    "list_jobs": "SummaryPage",
}


def test_there_are_flows() -> None:
    assert len(FLOWS) > 40
    assert {"run", "explore", "commit", "deny", "events", "wait", "rotate_key", "usage"} <= set(FLOWS)


@pytest.mark.parametrize("name", FLOWS)
def test_each_flow_is_a_method_of_both_clients_with_its_signature_and_its_words(name: str) -> None:
    parameters = inspect.signature(FLOWS[name]).parameters
    for client in (Vardy, AsyncVardy):
        method = getattr(client, name)
        assert inspect.signature(method).parameters == parameters
        assert list(inspect.signature(method).parameters)[0] == "self"  # noqa: RUF015 - the first of all
        assert method.__doc__ == FLOWS[name].__doc__
        assert (method.__name__, method.__wrapped__) == (name, FLOWS[name])
        assert "Flow[" not in str(inspect.signature(method))
        assert "Stream[" not in str(inspect.signature(method))


def test_clients_have_no_methods_beside() -> None:
    for client in (Vardy, AsyncVardy):
        public = {name for name, _ in inspect.getmembers(client, callable) if not name.startswith("_")}
        assert public == set(FLOWS) | {"close"}


@pytest.mark.parametrize("name", FLOWS)
def test_tools_know_which_methods_are_coroutines(name: str) -> None:
    assert not inspect.iscoroutinefunction(getattr(Vardy, name))
    assert inspect.iscoroutinefunction(getattr(AsyncVardy, name)) == (name not in ITERATORS)


@pytest.mark.parametrize("name", RESULTS)
def test_signatures_tell_what_comes_back(name: str) -> None:
    for client in (Vardy, AsyncVardy):
        assert inspect.signature(getattr(client, name)).return_annotation == RESULTS[name]
    assert inspect.signature(Vardy.events).return_annotation == "Generator[EventView, None, None]"
    assert inspect.signature(AsyncVardy.events).return_annotation == "AsyncGenerator[EventView, None]"


def test_help_shows_arguments_and_words() -> None:
    shown = pydoc.plain(pydoc.render_doc(Vardy.run))
    assert "request: 'str | None' = None" in shown
    assert "-> 'JobView'" in shown
    assert "Submits a job and waits until it settles" in shown
