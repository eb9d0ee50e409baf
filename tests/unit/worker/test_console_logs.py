"""Logs for people, as a process of its own writes them to a terminal."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = r"""
import logging
from vardy_worker.logs import configure_logs, get_logger

configure_logs("console")
log = get_logger("test")
log.warning("a.thing", owner="\x1b]0;title\x07\x9b2J", seconds=3)
logging.getLogger("library").warning("back to the begin\rof the line \x1b[2J")
try:
    raise ValueError("no order \x1b[31m17\x08\x08 for ana\nand no other")
except ValueError:
    log.exception("a.failure")
"""


def test_no_value_and_no_message_of_an_exception_controls_the_terminal() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, check=True, timeout=60)
    written = done.stderr.decode()
    assert [character for character in written if not character.isprintable() and character != "\n"] == []
    for spelled in (
        r"\x1b]0;title\x07\x9b2J",
        r"the begin\x0dof the line \x1b[2J",
        r"no order \x1b[31m17\x08\x08 for ana",
    ):
        assert spelled in written
    assert "seconds=3" in written
    assert "and no other" in written.splitlines()
