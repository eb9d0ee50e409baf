"""How a user's totals are kept by hour, for every store: pure, without a server."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from vardy_worker.contracts.totals import HOUR_MS, WINDOW_HOURS_MAX, CountedPlan, EffectTotals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vardy_worker.contracts.totals import TotalsCorrection

KEEP_MS: Final = (WINDOW_HOURS_MAX + 2) * HOUR_MS
"""Totals outlive the last plan that was counted by the longest window, which ends within an hour."""

_NOTHING: Final = EffectTotals()


@dataclass(frozen=True, slots=True)
class UserTotals:
    """One user's totals as a store has them; `now` is the present hour.

    `version` changes with every plan that is counted, and `last` is the hour of the newest;
    `version` and `era` are "" while none was. `hours` are the encoded totals by hour, at
    least of those that are asked for (see `needed`).
    """

    now: int
    era: str = ""
    version: str = ""
    last: int = 0
    hours: Mapping[int, bytes] = field(default_factory=dict)
    corrections: Sequence[TotalsCorrection] = ()

    def needed(self, window_hours: int, plan: CountedPlan | None) -> frozenset[int]:
        """The hours without which neither a window can be shown nor a plan be counted."""
        window = range(self.now - window_hours, self.now + 1)
        return frozenset([*window, *(each.hour for each in self._open_corrections), *([plan.hour] if plan else [])])

    def window(self, window_hours: int, *, without: CountedPlan | None = None) -> EffectTotals:
        """What was done in the last hours, the oldest one whole, without one of the plans."""
        first = self.now - window_hours
        parts = [decode_totals(stored) for hour, stored in self.hours.items() if hour >= first]
        parts += [each.totals for each in self._open_corrections if each.hour >= first]
        if without is not None and without.hour >= first and self._holds(without.era, without.hour):
            parts.append(without.totals.negated())
        return EffectTotals.added_up(parts)

    def again(self, earlier: CountedPlan, window_hours: int) -> CountedPlan:
        """A plan that was counted for the commit under way, before a crash: as it was noted.

        Only under rules that look further or less far back, what was before is read anew.
        """
        if earlier.window_hours == window_hours:
            return earlier
        before = self.window(window_hours, without=earlier)
        return earlier.model_copy(update={"before": before, "window_hours": window_hours})

    def counting(self, earlier: CountedPlan | None, totals: EffectTotals, window_hours: int, *, version: str) -> Count:
        """Counts a plan in the present hour, or moves it there from an earlier commit's."""
        own = totals if earlier is None else earlier.totals
        changes = [(self.now, own), *((each.hour, each.totals) for each in self._open_corrections)]
        if earlier is not None and self._holds(earlier.era, earlier.hour):
            changes.append((earlier.hour, own.negated()))
        changed: dict[int, EffectTotals] = {}
        for hour, change in changes:
            changed[hour] = changed.get(hour, self._at(hour)).plus(change)
        return Count(
            counted=CountedPlan(
                era=self.era or version,
                hour=self.now,
                totals=own,
                before=self.window(window_hours, without=earlier),
                window_hours=window_hours,
            ),
            version=version,
            written={hour: encode_totals(total) for hour, total in changed.items() if not total.is_zero},
            dropped=(*(hour for hour, total in changed.items() if total.is_zero), *self._outdated()),
        )

    def _outdated(self) -> Sequence[int]:
        """The hours that left the longest window since the last count: it dropped those before."""
        return range(self.last - WINDOW_HOURS_MAX, self._oldest) if self.era else ()

    @property
    def _oldest(self) -> int:
        return self.now - WINDOW_HOURS_MAX

    @property
    def _open_corrections(self) -> list[TotalsCorrection]:
        return [each for each in self.corrections if self._holds(each.era, each.hour)]

    def _holds(self, era: str, hour: int) -> bool:
        """Whether what was counted then is still among these totals."""
        return era == self.era and hour >= self._oldest

    def _at(self, hour: int) -> EffectTotals:
        return decode_totals(self.hours[hour]) if hour in self.hours else _NOTHING


@dataclass(frozen=True, slots=True)
class Count:
    """What a store writes to count a plan: hours with their totals, hours that end, and the job's note."""

    counted: CountedPlan
    version: str
    written: Mapping[int, bytes]
    dropped: Sequence[int]


def encode_totals(totals: EffectTotals) -> bytes:
    """Totals as stored."""
    return totals.model_dump_json(exclude_defaults=True).encode()


def decode_totals(stored: bytes) -> EffectTotals:
    """Totals as they were stored."""
    return EffectTotals.model_validate_json(stored)
