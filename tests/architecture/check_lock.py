"""Says whether the lock files fit pyproject.toml: every requirement locked, at a version it allows."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]


def locked(name: str) -> dict[str, str]:
    """Package to version, by normalised name; every entry must carry hashes."""
    text = (ROOT / name).read_text(encoding="utf-8")
    entries = re.findall(
        r"^([A-Za-z0-9._-]+)==([^\s;\\]+)[^\n]*\\\n((?:    --hash=sha256:[0-9a-f]{64}[ \\]*\n?)+)", text, re.MULTILINE
    )
    return {re.sub(r"[-_.]+", "-", package).lower(): version for package, version, _ in entries}


def problems() -> list[str]:
    """One sentence for each requirement that a lock file does not satisfy."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = {
        "requirements.lock": project["dependencies"],
        "requirements-dev.lock": [*project["dependencies"], *project["optional-dependencies"]["dev"]],
    }
    found = []
    for file, requirements in wanted.items():
        versions = locked(file)
        for text in requirements:
            requirement = Requirement(text)
            version = versions.get(re.sub(r"[-_.]+", "-", requirement.name).lower())
            if version is None:
                found.append(f"{file}: {requirement.name} is not locked")
            elif not requirement.specifier.contains(version):
                found.append(f"{file}: {requirement.name} {version} does not fit {requirement.specifier}")
    return found


if __name__ == "__main__":
    sys.exit("\n".join(problems()) or 0)
