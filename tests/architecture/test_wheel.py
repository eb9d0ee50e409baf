"""What users install: a wheel whose clients their type checker understands."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]
SAMPLE = """\
from vardy_api import AsyncVardy, Decision, RateLimited, Vardy
from vardy_worker.contracts.view import JobView

lead = {"id": "lea", "roles": ["support_lead"]}
vardy = Vardy("http://vardy", api_key="vk_", on_approval=lambda job: Decision(True, user=lead))
job = vardy.run("how much?", user={"id": "ana", "roles": ["support"]}, timeout_seconds=3)
reveal_type(job)  # JobView
reveal_type(vardy.explore("why?", user="ana").answer)  # str | None
reveal_type(vardy.commit(job, user=lead).status)  # Status
reveal_type(vardy.recipes())  # tuple[RecipeView, ...]
reveal_type([event.id for event in vardy.events(job, follow=True)])  # list[str]
reveal_type(next(vardy.iterate_jobs(status="PARTIAL")))  # SummaryView
vardy.run(42)  # error: arg-type
vardy.run("a", nonsense=1)  # error: call-arg
vardy.deny(job)  # error: call-arg
vardy.deny(job, "no")  # error: call-arg
vardy.get(3)  # error: arg-type
AsyncVardy(on_approval=3)  # error: arg-type


async def ask(job: JobView) -> Decision | None:
    return None


async def main() -> None:
    async with AsyncVardy(on_approval=ask) as client:
        reveal_type(await client.run("how much?", user="ana"))  # JobView
        waiting = client.wait(job)
        reveal_type(waiting)  # Coroutine[Any, Any, JobView]
        await waiting
        async for event in client.events(job):
            reveal_type(event)  # EventView
        client.get("job_1")  # error: unused-coroutine
        await client.run("a", nonsense=1)  # error: call-arg
        try:
            await client.cancel(job)
        except RateLimited as error:
            reveal_type(error.retry_after_seconds)  # float | None
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment in which the wheel is installed, and what it depends on can be found."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=60)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    python = folder / "venv" / "bin" / "python"
    (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
    with ZipFile(wheel) as archive:
        archive.extractall(site)
    # A path file of a path that a path file added is not read, so the sources of this checkout stay unseen.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return python


def test_the_wheel_is_whole(python: Path) -> None:
    code = "import vardy_api; from vardy_api import AsyncVardy, Vardy; print(vardy_api.__file__)"
    done = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, check=True, timeout=60)
    site = Path(done.stdout.strip()).parents[1]
    assert site.is_relative_to(python.parents[1])
    assert _files(ROOT) - _files(site) == set()
    assert {Path("vardy_api/py.typed"), Path("vardy_worker/py.typed")} <= _files(site)


def _files(folder: Path) -> set[Path]:
    """The files of both packages, programs in other languages too."""
    found = (file for name in ("vardy_api", "vardy_worker") for file in (folder / name).rglob("*") if file.is_file())
    return {file.relative_to(folder) for file in found if file.suffix != ".pyc"}


def test_a_type_checker_of_users_knows_arguments_and_results_of_both_clients(python: Path, tmp_path: Path) -> None:
    (tmp_path / "sample.py").write_text(SAMPLE, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-pretty",
        "--no-error-summary",
        "--cache-dir",
        str(tmp_path),
    ]
    done = subprocess.run(
        [*command, "--config-file=", "--python-executable", str(python), "sample.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )
    assert done.stderr == ""
    said = dict(re.findall(r"^sample\.py:(\d+): ((?!note: Are you missing).*)$", done.stdout, re.MULTILINE))
    expected = {
        str(number): line.partition("  # ")[2] for number, line in enumerate(SAMPLE.splitlines(), 1) if "  # " in line
    }
    assert set(said) == set(expected), done.stdout
    for number, sentence in said.items():
        assert _short(sentence) == expected[number], done.stdout


def _short(sentence: str) -> str:
    """A type without modules and marks, or the code of an error."""
    if revealed := re.fullmatch(r'note: Revealed type is "(.*)"', sentence):
        return re.sub(r"\b(?:\w+\.)+(?=\w)", "", revealed[1].replace("?", ""))
    return re.sub(r"error: .*\[([\w-]+)\]", r"error: \1", sentence)
