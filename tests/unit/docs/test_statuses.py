import re
from pathlib import Path

from vardy_worker.contracts.status import RESULT_STATUSES, TRANSITIONS, Status

TEXT = (Path(__file__).parents[3] / "docs" / "statuses.md").read_text(encoding="utf-8")
ANY_RESULT = "any result but `PARTIAL`"


def test_the_documented_moves_are_the_table() -> None:
    section = TEXT.split("## Moves")[1]
    documented: dict[Status, set[Status]] = {}
    for row in re.findall(r"^\| (`.+?) \| (.+?) \|$", section, re.MULTILINE):
        befores = [Status(name) for name in re.findall(r"`([A-Z_]+)`", row[0])]
        afters = {Status(name) for name in re.findall(r"`([A-Z_]+)`", row[1].replace(ANY_RESULT, ""))}
        if ANY_RESULT in row[1]:
            afters |= RESULT_STATUSES - {Status.PARTIAL}
        documented |= dict.fromkeys(befores, afters)
    assert documented == TRANSITIONS


def test_every_result_is_explained() -> None:
    section = TEXT.split("## Results")[1].split("## On the way")[0]
    assert set(re.findall(r"^\| `([A-Z_]+)` \|", section, re.MULTILINE)) == {str(s) for s in RESULT_STATUSES}


def test_every_other_status_is_explained() -> None:
    section = TEXT.split("## On the way")[1].split("## Moves")[0]
    named = set(re.findall(r"^\| `([A-Z_]+)` \|", section, re.MULTILINE))
    assert named == {str(status) for status in set(Status) - RESULT_STATUSES}
