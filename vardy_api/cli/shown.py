"""What a command shows: one value, printed as JSON or drawn for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vardy_api.cli.exits import ExitCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import BaseModel


@dataclass(frozen=True, slots=True)
class Shown:
    """The outcome of a command.

    `data` has the shape that the API answers with; JSON is exactly that. `style` chooses
    between several drawings of one shape. `failure` is reported after the value, and
    then gives the exit code. `hints` are commands to type next, for people only.
    """

    data: BaseModel
    style: str = ""
    exit_code: ExitCode = ExitCode.OK
    failure: Exception | None = None
    hints: Sequence[str] = ()
