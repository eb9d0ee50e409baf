"""The map of the packages in the documentation names what there is, and nothing else."""

import fnmatch
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAP = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
NOT_ON_THE_MAP = {"__init__.py", "__main__.py", "__pycache__", "py.typed"}


def parts(package: str) -> set[str]:
    """Modules, and folders with a slash, directly below a package."""
    found = {path for path in (ROOT / package).iterdir() if path.name not in NOT_ON_THE_MAP}
    return {f"{path.name}/" if path.is_dir() else path.name for path in found}


def named(package: str) -> set[str]:
    """What the first columns of the package's tables name, patterns among them."""
    sections = re.split(r"^## ", MAP, flags=re.MULTILINE)
    rows = [
        row
        for section in sections
        if section.startswith(package)
        for row in re.findall(r"^\| (`.*?) \|", section, flags=re.MULTILINE)
    ]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


@pytest.mark.parametrize("package", ["vardy_api", "vardy_worker"])
def test_every_part_of_a_package_is_on_the_map_and_no_other(package: str) -> None:
    there, told = parts(package), named(package)
    assert {part for part in there if not any(fnmatch.fnmatch(part, name) for name in told)} == set()
    assert {name for name in told if not fnmatch.filter(there, name)} == set()
