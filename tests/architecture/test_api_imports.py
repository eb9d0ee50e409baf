"""What the API and the client load, seen in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = {"litellm", "openai", "wasmtime", "quickjs_rs"}
WORKER_ONLY = ("vardy_worker.stages", "vardy_worker.adapters", "vardy_worker.sandbox", "vardy_worker.pipeline",
               "vardy_worker.bootstrap", "vardy_worker.tasks", "vardy_worker.app")  # fmt: skip

SERVED = """
import json, os, sys
os.environ["VARDY_REDIS_URL"] = "redis://127.0.0.1:1/0"
os.environ["VARDY_FUNCTIONS"] = "no_such_module:functions"
os.environ["VARDY_MODEL"] = "openai/none"
from vardy_api.app import create_app
from tests.support.asgi import ask
app = create_app()
answers = [ask(app, "GET", path) for path in ("/livez", "/openapi.json", "/docs", "/v1/functions", "/metrics")]
print(json.dumps({"answers": answers, "modules": sorted(sys.modules)}))
"""

CLIENT = """
import json, sys
from vardy_api import {client}, Decision, WaitTimeout
{client}("http://127.0.0.1:1", api_key="vk_x")
Decision(approve=True)
print(json.dumps({{"modules": sorted(sys.modules)}}))
"""
SERVER = {"celery", "kombu", "redis", "fastapi", "starlette", "uvicorn", "jsonschema", "structlog", "prometheus_client",
          "typer", "yaml", "cel_expr_python", "tree_sitter", "limits"}  # fmt: skip


def modules_after(code: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told.get("answers", [200, 200, 200, 401, 200]) == [200, 200, 200, 401, 200]
    return set(told["modules"])


def test_the_api_loads_neither_model_nor_sandbox_nor_the_companys_functions() -> None:
    modules = modules_after(SERVED)
    assert "vardy_api.http.application" in modules
    assert not modules & HEAVY
    assert "no_such_module" not in modules
    assert not [name for name in modules if name.startswith(WORKER_ONLY)]


@pytest.mark.parametrize("client", ["Vardy", "AsyncVardy"])
def test_the_clients_load_no_server(client: str) -> None:
    modules = modules_after(CLIENT.format(client=client))
    assert "vardy_api.client_methods" in modules
    assert not modules & (HEAVY | SERVER)
    assert not [name for name in modules if name.startswith(("vardy_api.http", "vardy_api.operations", *WORKER_ONLY))]
    assert ("asyncio" in modules) == (client == "AsyncVardy")
