"""Tests of a company's own functions, rules and recipes, without server, broker or model.

`Harness` runs whole jobs; `crash_points` runs one write function through everything that
can happen to a commit. `docs/testing.md` is the guide.
"""

from __future__ import annotations

from vardy_worker.contracts.judge import AiQuestion, ClassifyQuestion
from vardy_worker.contracts.status import Status
from vardy_worker.contracts.user import User
from vardy_worker.contracts.view import JobView
from vardy_worker.testing.crash_host import CallMade
from vardy_worker.testing.crashes import CrashPoint, CrashReport, crash_points
from vardy_worker.testing.harness import Harness
from vardy_worker.testing.scripted_judge import ScriptedJudge

__all__ = [
    "AiQuestion",
    "CallMade",
    "ClassifyQuestion",
    "CrashPoint",
    "CrashReport",
    "Harness",
    "JobView",
    "ScriptedJudge",
    "Status",
    "User",
    "crash_points",
]
