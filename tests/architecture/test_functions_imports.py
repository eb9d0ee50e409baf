from __future__ import annotations

import subprocess
import sys


def test_a_functions_module_loads_nothing_heavy() -> None:
    script = (
        "import sys, vardy_worker\n"
        "assert 'pydantic' not in sys.modules, 'the package alone must stay light: sandbox children import it'\n"
        "from vardy_worker import CallContext, FunctionError, Functions\n"
        "heavy = {'celery', 'kombu', 'redis', 'litellm', 'wasmtime', 'jsonschema', 'fastapi', 'httpx', 'tree_sitter'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_the_catalogue_is_read_without_the_runtime() -> None:
    script = (
        "import sys, vardy_worker.functions\n"
        "print(sorted(name for name in sys.modules if name in {'vardy_worker.functions.runtime', 'jsonschema'}))\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
