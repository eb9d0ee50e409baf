import re
from pathlib import Path

from vardy_worker.contracts.errors import JOB_ERRORS

TEXT = (Path(__file__).parents[3] / "docs" / "errors.md").read_text(encoding="utf-8")


def test_every_job_error_is_documented_with_its_status() -> None:
    rows = re.findall(r"^\| `([a-z_.]+)` \| `([A-Z_]+)`", TEXT, re.MULTILINE)
    assert dict(rows) == {code: str(status) for code, status in JOB_ERRORS.items()}
