"""What a benchmark says, and how repetitions are interleaved."""

from __future__ import annotations

import statistics
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vardy_worker.contracts.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Measurement:
    """One figure. `ratio` is value over floor where there is a floor; `met` compares with the target."""

    name: str
    what: str
    value: float
    unit: str
    target: str
    met: bool
    floor: float | None = None
    floor_what: str = ""
    ratio: float | None = None
    details: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Plain values, rounded for tracking."""
        return {
            "name": self.name,
            "what": self.what,
            "value": round(self.value, 4),
            "unit": self.unit,
            "floor": None if self.floor is None else round(self.floor, 4),
            "floor_what": self.floor_what,
            "ratio": None if self.ratio is None else round(self.ratio, 3),
            "target": self.target,
            "met": self.met,
            "details": self.details,
        }


def seconds_of(act: Callable[[], object]) -> float:
    """How long one call takes."""
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def interleaved(rounds: int, *acts: Callable[[], float]) -> list[float]:
    """The median of what each act returns, over rounds in which all take turns."""
    values: list[list[float]] = [[] for _ in acts]
    for _ in range(rounds):
        for act, collected in zip(acts, values, strict=True):
            collected.append(act())
    return [statistics.median(collected) for collected in values]


def median_seconds(act: Callable[[], object], repetitions: int) -> float:
    """The median time of repeated calls."""
    return statistics.median(seconds_of(act) for _ in range(repetitions))


def needs_proc(name: str) -> None:
    """Raises `SettingsError` where the benchmark of this name cannot read what processes take."""
    if not Path("/proc/self/status").exists():
        raise SettingsError(f"The benchmark {name} reads /proc, which only Linux has.")


def rss_mib(pid: int) -> float:
    """Resident memory of a process. Raises `OSError` when it is gone."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def cpu_seconds(pid: int) -> float:
    """Processor time of the threads that a process has now. Raises `OSError` when it is gone."""
    spent = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        # A thread may end meanwhile.
        with suppress(FileNotFoundError, ProcessLookupError):
            spent += int((task / "schedstat").read_text(encoding="ascii").split()[0])
    return spent / 1e9


def percentile(values: list[float], share: float) -> float:
    """The value below which the share of the values lies (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]
