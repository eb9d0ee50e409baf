"""How many files, which sockets are, this process may have open."""

from __future__ import annotations

import contextlib
import sys
from typing import Final

OPEN_FILES_MAX: Final = 65_536
"""More than a process serves; some systems' hard limit is a thousand million, which other programs stumble over."""


def allow_open_files() -> int | None:
    """Raises the soft limit towards the hard one, and returns it; None where there is none.

    Soft limits are as low as 1,024 for programs that use `select`, which cannot watch more; nothing here does,
    and a thousand waiting clients are as many sockets.
    """
    if sys.platform == "win32":
        return None
    import resource  # noqa: PLC0415 - Windows has none

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = OPEN_FILES_MAX if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES_MAX)
    if soft == resource.RLIM_INFINITY or soft >= allowed:
        return soft
    # A system may refuse what it says is allowed; the limit then stays as it was.
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
