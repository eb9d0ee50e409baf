"""The system's processes, by `/proc`: whose child, still alive, named how."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

PROC = Path("/proc")
LISTEN = "0A"
LOOPBACK = "0100007F"
"""127.0.0.1 in the kernel's tables of a little-endian machine."""

needs_proc = pytest.mark.skipif(not (PROC / "self" / "stat").exists(), reason="looks at processes through /proc")


@dataclass(frozen=True, slots=True)
class Seen:
    """One process; the start time tells it from a later one with the same id."""

    pid: int
    parent: int
    started: int

    def is_alive(self) -> bool:
        """Whether it has not ended. A zombie has."""
        return any(seen == self or (seen.pid, seen.started) == (self.pid, self.started) for seen in processes())


def processes() -> list[Seen]:
    """Every process that has not ended."""
    found = []
    for entry in PROC.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        # The name, in parentheses, may itself hold spaces and parentheses.
        fields = stat.rpartition(")")[2].split()
        if fields[0] not in {"Z", "X"}:
            found.append(Seen(int(entry.name), int(fields[1]), int(fields[19])))
    return found


def descendants(pid: int) -> list[Seen]:
    """Children, their children, and so on."""
    everybody = processes()
    found: list[Seen] = []
    parents = {pid}
    while parents:
        children = [seen for seen in everybody if seen.parent in parents]
        found.extend(children)
        parents = {child.pid for child in children}
    return found


def naming(word: str) -> list[int]:
    """Processes with the word in their command, environment or working directory."""
    found = []
    for seen in processes():
        folder = PROC / str(seen.pid)
        try:
            text = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
            place = str((folder / "cwd").readlink())
        except OSError:
            continue
        if word.encode() in text or word in place:
            found.append(seen.pid)
    return found


def listening(pids: list[int]) -> set[str]:
    """The addresses that the processes accept TCP connections at, as the kernel writes them."""
    inodes = set()
    for pid in pids:
        for descriptor in (PROC / str(pid) / "fd").iterdir():
            try:
                inodes.add(str(descriptor.readlink()))
            except FileNotFoundError:
                continue
    found = set()
    for table in ("tcp", "tcp6"):
        for line in (PROC / "net" / table).read_text(encoding="ascii").splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTEN and f"socket:[{fields[9]}]" in inodes:
                found.add(fields[1].partition(":")[0])
    return found
