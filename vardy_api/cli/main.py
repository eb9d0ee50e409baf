"""The entry point of `vardy`: all commands put together, and the one place where errors end."""

from __future__ import annotations

import contextlib
import io
import sys
from typing import TYPE_CHECKING, Annotated

import typer
from typer.main import get_command

from vardy_api.cli.command import command
from vardy_api.cli.commands import (
    approvals,
    audit,
    commits,
    functions,
    jobs,
    keys,
    processes,
    programs,
    prompts,
    recipes,
    rules,
)
from vardy_api.cli.commands.doctor import doctor
from vardy_api.cli.commands.explore import EXPLORE_EXAMPLES, explore
from vardy_api.cli.commands.run import RUN_EXAMPLES, run
from vardy_api.cli.exits import ExitCode
from vardy_api.cli.session import Environment

if TYPE_CHECKING:
    from collections.abc import Sequence

EVERYDAY = "Everyday"
REVIEWED = "What programs may do"
PROCESSES = "Processes"
ADMINISTRATION = "Administration"


def build() -> typer.Typer:
    """All commands."""
    app = typer.Typer(
        name="vardy",
        help="Put an AI in front of your own systems: ask in plain words, review the plan, approve, commit.",
        epilog="Set VARDY_URL and VARDY_API_KEY to say which API is meant. Start with: vardy demo",
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    app.callback()(_root)
    command(app, "run", examples=RUN_EXAMPLES, panel=EVERYDAY)(run)
    command(app, "explore", examples=EXPLORE_EXAMPLES, panel=EVERYDAY)(explore)
    for panel, name, group in (
        (EVERYDAY, "jobs", jobs.group),
        (EVERYDAY, "approvals", approvals.group),
        (EVERYDAY, "commits", commits.group),
        (REVIEWED, "programs", programs.group),
        (REVIEWED, "recipes", recipes.group),
        (REVIEWED, "functions", functions.group),
        (REVIEWED, "rules", rules.group),
        (REVIEWED, "prompts", prompts.group),
        (ADMINISTRATION, "keys", keys.group),
        (ADMINISTRATION, "audit", audit.group),
    ):
        app.add_typer(group, name=name, rich_help_panel=panel)
    command(app, "doctor", examples=["vardy doctor", "vardy doctor --json"], panel=ADMINISTRATION)(doctor)
    for function, examples in (
        (processes.demo, ["vardy demo"]),
        (processes.dev, ["vardy dev", "VARDY_FUNCTIONS=shop.functions:functions vardy dev --port 9000"]),
        (processes.api, ["vardy api --host 0.0.0.0 --port 8000"]),
        (processes.worker, ["vardy worker"]),
        (processes.bench, ["vardy bench", "vardy bench throughput latency --json"]),
    ):
        command(app, function.__name__, examples=examples, panel=PROCESSES, connects=False)(function)
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415 - only for this option

        sys.stdout.write(f"vardy {version('vardy')}\n")
        raise typer.Exit


def _root(
    _version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Print the version.")
    ] = False,
) -> None:
    pass


def main(arguments: Sequence[str] | None = None, *, environment: Environment | None = None) -> int:
    """Runs one command line; returns its exit code. Errors are printed, never raised.

    Only Python's development mode (`PYTHONDEVMODE=1`) lets unexpected errors through.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character shows its number instead of ending the command.
            stream.reconfigure(errors="backslashreplace")
    try:
        result = get_command(build()).main(
            args=given, prog_name="vardy", standalone_mode=False, obj=environment or Environment()
        )
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last place before a person; development mode raises it again
        return _report(error, as_json=_wants_json(given))
    finally:
        with contextlib.suppress(BrokenPipeError):
            sys.stdout.flush()
    return int(result or ExitCode.OK)


def _wants_json(arguments: Sequence[str]) -> bool:
    """Whether `--json` was given; asked of the words, because parsing may be what failed."""
    before_words = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in before_words


def _report(error: Exception, *, as_json: bool) -> int:
    if isinstance(error, typer.TyperException) and not error.format_message():
        # A group without a command has printed its help.
        return ExitCode.USAGE
    from vardy_api.cli.failures import EXPECTED, report_failure  # noqa: PLC0415 - only for errors

    if sys.flags.dev_mode and not isinstance(error, EXPECTED):
        raise error
    return report_failure(error, as_json=as_json)
