"""What `docs/client.md` shows works as it stands there, against the real processes."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.deployment import ROOT, Deployment, running
from vardy_worker.demo.scripted import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vardy_api.embedded import EmbeddedServer

TEXT = (ROOT / "docs" / "client.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^```python\n# (\S+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL))
PRINTED = {
    "first.py": ["SUCCESS {.*}", "PLANNED 2", r"(.|\n)+"],
    "waiting.py": ["True SUCCESS"],
    "approve.py": [r"refund_payment {.*} Refunds above 50.00 .*", "SUCCESS", "SUCCESS"],
    "events.py": ["status QUEUED", "status RUNNING", r"(.|\n)+", "status SUCCESS", r"\[\]"],
    "questions.py": ["SUCCESS", r"\['SUCCESS', 'SUCCESS', 'SUCCESS'\]", "status"],
    "errors.py": [
        "job.not_found 404 .+",
        "request.invalid .*exactly one of .*",
        "client.unreachable",
    ],
    "service.py": ["200 SUCCESS"],
    "test_reminders.py": ["None"],
}
ALL_OF_THEM = """
import runpy, sys, warnings
from fastapi.testclient import TestClient
for name in sys.argv[1:]:
    print("#", name)
    runpy.run_path(name, run_name="__main__")
print("# service.py")
with TestClient(runpy.run_path("service.py")["app"]) as http:
    answer = http.get("/debts/3")
    print(answer.status_code, answer.json()["status"])
print("# test_reminders.py")
for name, test in runpy.run_path("test_reminders.py").items():
    if name.startswith("test_"):
        print(test())
"""


@pytest.fixture(scope="module")
def deployment(acceptance_server: EmbeddedServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """The demo shop with its recipes, and the files that the document shows in the folder where they run."""
    folder = tmp_path_factory.mktemp("client")
    for name, content in FILES.items():
        (folder / name).write_text(content, encoding="utf-8")
    settings = {
        "VARDY_FUNCTIONS": "vardy_worker.demo.shop:functions",
        "VARDY_RULES": str(ROOT / "vardy_worker" / "demo" / "rules.yaml"),
        "VARDY_DEMO_DIR": str(folder / "shop"),
    }
    with ScriptedModel() as model:
        made = Deployment(acceptance_server, model, folder, namespace="client", settings=settings)
        with running(made, "api", "worker"):
            made.cli("recipes", "import", str(ROOT / "vardy_worker" / "demo" / "recipes"), "--yes")
            yield made


@pytest.fixture(scope="module")
def printed(deployment: Deployment) -> dict[str, list[str]]:
    """What each program printed, run one after another in one process, which starts but once."""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            ALL_OF_THEM,
            *(name for name in PRINTED if name not in {"service.py", "test_reminders.py"}),
        ],
        env=deployment.environment,
        cwd=deployment.folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    parts = re.findall(r"^# (\S+)\n((?:(?!# ).*\n)*)", done.stdout, re.MULTILINE)
    return {name: lines.splitlines() for name, lines in parts}


def test_every_program_that_is_shown_is_run_here() -> None:
    assert set(FILES) == set(PRINTED)
    assert TEXT.count("```python\n") == len(FILES)


@pytest.mark.parametrize("name", PRINTED)
def test_a_program_prints_what_it_should(printed: dict[str, list[str]], name: str) -> None:
    assert re.fullmatch("\n".join(PRINTED[name]), "\n".join(printed[name])), printed[name]
