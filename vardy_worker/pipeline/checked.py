"""Recipes' programs that were checked before: the same text against the same functions has the same findings."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from vardy_worker.programs import check

if TYPE_CHECKING:
    from vardy_worker.contracts.functions import Catalogue, FunctionSpec
    from vardy_worker.contracts.program import Finding

KEPT: Final = 256
"""Programs whose findings are kept, the ones used last."""

_Key = tuple[str, bool, tuple[int, ...]]
_Checked = tuple["tuple[FunctionSpec, ...]", "tuple[Finding, ...]"]


class CheckedPrograms:
    """The findings of programs that are run again and again. For any number of threads at once.

    A check takes about as long as a small program runs. It depends on nothing but the text, whether
    there is a judge, and the functions, which are told apart as objects: those of a process never change.
    """

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._lock = threading.Lock()
        self._known: OrderedDict[_Key, _Checked] = OrderedDict()

    def check(self, source: str, catalogue: Catalogue, *, judge: bool) -> tuple[Finding, ...]:
        """As `programs.check`."""
        # Kept with its findings, a function's id is no other's.
        key = (source, judge, tuple(map(id, catalogue.functions)))
        with self._lock:
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
                return known[1]
        findings = check(source, catalogue, judge=judge)
        with self._lock:
            self._known[key] = (catalogue.functions, findings)
            while len(self._known) > self._kept:
                self._known.popitem(last=False)
        return findings
