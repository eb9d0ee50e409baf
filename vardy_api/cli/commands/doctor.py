"""`vardy doctor`: is everything there that a deployment needs?"""

from __future__ import annotations

from vardy_api.cli.exits import ExitCode
from vardy_api.cli.session import Session
from vardy_api.cli.shown import Shown


def doctor(session: Session) -> Shown:
    """Check settings, Redis, workers, queues, catalogue, rules and API, and say what to do.

    Reads only, and needs no running API: with VARDY_REDIS_URL set it looks at Redis
    itself. The exit code is 1 when something failed; warnings leave it at 0.
    """
    from vardy_api.cli.doctor import examine  # noqa: PLC0415 - see `vardy_api.cli`

    checkup = examine(session)
    return Shown(checkup, exit_code=ExitCode.OK if checkup.ok else ExitCode.ERROR)
