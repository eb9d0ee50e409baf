"""One running command: its connection, its questions and what it shows.

Everything heavy is loaded on first use, so that a command pays only for what it does.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import typer

from vardy_api.cli.exits import ExitCode, confirmation_needed, declined
from vardy_api.cli.shown import Shown
from vardy_api.cli.text import escaped_json

if TYPE_CHECKING:
    from vardy_api.cli.output import Output
    from vardy_api.client import Vardy
    from vardy_worker.contracts.view import JobView


def connect(url: str | None, api_key: str | None) -> Vardy:
    """The client of the HTTP API."""
    # httpx imports its own command line, and with it a highlighter, if it can: 0.1 s for nothing.
    absent = "httpx._main" not in sys.modules
    if absent:
        sys.modules["httpx._main"] = None  # type: ignore[assignment] # None is how Python marks a module as absent
    try:
        from vardy_api.client import Vardy  # noqa: PLC0415 - see the module's docstring
    finally:
        if absent:
            del sys.modules["httpx._main"]
    return Vardy(url, api_key=api_key, via="cli")


@dataclass(frozen=True, slots=True)
class Environment:
    """What surrounds a command and can be replaced in tests."""

    connect: Callable[[str | None, str | None], Vardy] = connect


class Session:
    """What a command works with. Close it when the command is done."""

    def __init__(self, environment: Environment, *, as_json: bool, url: str | None, api_key: str | None) -> None:
        self.as_json = as_json
        self.url = url
        self.api_key = api_key
        self._environment = environment

    @cached_property
    def client(self) -> Vardy:
        """The connection to the API."""
        return self._environment.connect(self.url, self.api_key)

    @cached_property
    def out(self) -> Output:
        """The streams."""
        from vardy_api.cli.output import Output  # noqa: PLC0415 - see the module's docstring

        return Output()

    def close(self) -> None:
        """Closes the connection, if there is one."""
        if "client" in self.__dict__:
            self.client.close()

    def show(self, shown: Shown) -> ExitCode:
        """Prints the outcome; returns the exit code."""
        if self.as_json:
            sys.stdout.write(escaped_json(shown.data.model_dump_json(by_alias=True, indent=2)) + "\n")
            sys.stdout.flush()
        else:
            from vardy_api.cli.render import render  # noqa: PLC0415 - see the module's docstring

            render(self.out, shown)
        if shown.failure is None:
            return shown.exit_code
        return self.report(shown.failure)

    def print_json(self, value: Mapping[str, Any]) -> None:
        """Prints a JSON object that is no contract."""
        sys.stdout.write(json.dumps(value, indent=2) + "\n")
        sys.stdout.flush()

    def report(self, error: Exception) -> ExitCode:
        """Prints an error; returns the exit code."""
        from vardy_api.cli.failures import report_failure  # noqa: PLC0415 - see the module's docstring

        return report_failure(error, as_json=self.as_json)

    def note(self, sentence: str) -> None:
        """Something a person should know that is not the outcome; left out of JSON runs."""
        if not self.as_json:
            self.out.stderr.print(sentence, style="dim", soft_wrap=True)

    def confirm(self, action: str, *, yes: bool) -> None:
        """Asks at the terminal. Raises `CommandError` without one, or when the answer is no."""
        if yes:
            return
        if not self.can_ask:
            raise confirmation_needed(f"Add --yes to {action}: there is no terminal to ask at.")
        try:
            agreed = typer.confirm(f"{action[0].upper()}{action[1:]}?", err=True)
        except typer.Abort:
            self.out.stderr.print()  # The cursor is still behind the question.
            raise
        if not agreed:
            raise declined()

    @property
    def can_ask(self) -> bool:
        """Whether a person sits at a terminal."""
        return bool(sys.stdin and sys.stdin.isatty() and sys.stderr.isatty())

    def settle(self, job: JobView, *, wait: bool, timeout: float | None) -> Shown:
        """Waits for a job if wished, showing its status, and makes the outcome of it."""
        from vardy_api.cli.watch import settle  # noqa: PLC0415 - see the module's docstring

        return settle(self, job, wait=wait, timeout_seconds=timeout)
