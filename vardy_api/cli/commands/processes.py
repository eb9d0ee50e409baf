"""Commands that are processes of their own: `api`, `worker`, `dev`, `demo`, `bench`."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vardy_api.cli.exits import CommandError, ExitCode
from vardy_api.cli.session import Session

if TYPE_CHECKING:
    from vardy_worker.settings import Settings

DATA_DIR = Path(".vardy")
"""Where `vardy dev` keeps its data by default, relative to where it is started."""

Port = Annotated[int | None, typer.Option(min=1, max=65_535, metavar="PORT", help="Port to listen on.")]
DevPort = Annotated[int, typer.Option(min=1, max=65_535, metavar="PORT", help="Port of the API.")]
DataDir = Annotated[Path, typer.Option(metavar="DIR", help="Where data is kept between starts.")]


def _settings(session: Session) -> Settings:
    """The settings, with logs set up; `--json` makes log lines JSON. Raises `SettingsError`."""
    from vardy_worker.logs import configure_logs  # noqa: PLC0415 - see `vardy_api.cli`

    settings = _load(session)
    configure_logs(settings.log_format, settings.log_level)
    return settings


def _quiet_settings(session: Session) -> None:
    """Checks the settings; keeps all but warnings of this process out of what a person reads."""
    from vardy_worker.logs import configure_logs  # noqa: PLC0415 - see `vardy_api.cli`

    configure_logs(_load(session).log_format, "warning")


def _load(session: Session) -> Settings:
    from vardy_worker.settings import load_settings  # noqa: PLC0415 - see `vardy_api.cli`

    return load_settings(log_format="json") if session.as_json else load_settings()


def _end_with_parent() -> None:
    from vardy_api.processes import end_with_parent  # noqa: PLC0415 - see `vardy_api.cli`

    end_with_parent()


def api(
    session: Session,
    *,
    host: Annotated[str | None, typer.Option(metavar="HOST", help="Address to listen on (VARDY_API_HOST).")] = None,
    port: Port = None,
) -> int:
    """Serve the HTTP API until it is stopped (VARDY_REDIS_URL; VARDY_API_HOST, VARDY_API_PORT)."""
    from vardy_api.app import serve  # noqa: PLC0415 - see `vardy_api.cli`

    _end_with_parent()
    settings = _settings(session)
    try:
        serve(settings, host=host, port=port)
    except SystemExit as error:
        # How the server says that it could not begin, after a log line with the cause.
        address = f"{host or settings.api_host}:{port or settings.api_port}"
        raise CommandError(
            f"The API cannot listen on {address}: the address is taken, or not this machine's; "
            "choose another with --host and --port.",
            code="cli.not_served",
            title="The API could not be served",
        ) from error
    return ExitCode.OK


def worker(session: Session) -> int:
    """Run a worker until it is stopped (VARDY_REDIS_URL, VARDY_FUNCTIONS, VARDY_MODEL).

    On SIGTERM or Ctrl-C it finishes the jobs in hand first. VARDY_WORKER_QUEUES narrows
    what it serves, VARDY_WORKER_CONCURRENCY sets how many jobs at once.
    """
    _end_with_parent()
    settings = _settings(session)
    # By name: no part of the API package may depend on the worker's own half.
    run_worker: Any = import_module("vardy_worker.app").run_worker
    run_worker(settings)
    return ExitCode.OK


def dev(
    session: Session,
    *,
    port: DevPort = 8000,
    redis_url: Annotated[
        str, typer.Option(metavar="URL", help="Use this Redis, and do not start an embedded one.")
    ] = "",
    data_dir: DataDir = DATA_DIR,
) -> int:
    """Run everything in one terminal: embedded Redis, worker and API, on this machine only.

    Uses VARDY_FUNCTIONS, VARDY_RULES and VARDY_MODEL where they are set; otherwise a demo
    shop with a scripted model. Data is kept between starts; Ctrl-C stops everything.
    """
    from vardy_api.dev import run_dev  # noqa: PLC0415 - see `vardy_api.cli`

    _quiet_settings(session)
    if session.as_json:
        # API and worker are processes of their own, and read their environment.
        os.environ["VARDY_LOG_FORMAT"] = "json"
    return run_dev(data_dir=data_dir.absolute(), port=port, redis_url=redis_url)


def demo(
    session: Session,
    *,
    data_dir: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep the demo's data here; default: a folder that is removed.")
    ] = None,
) -> int:
    """Show the whole main job in the terminal, on an embedded Redis and a scripted model.

    With VARDY_MODEL set, that model answers instead. Ends with 0 only if every step
    ended as it should.
    """
    from vardy_api.demo import run_demo  # noqa: PLC0415 - see `vardy_api.cli`

    _quiet_settings(session)
    folder = None if data_dir is None else data_dir.absolute()
    if not session.as_json:
        return run_demo(data_dir=folder)
    code = run_demo(data_dir=folder, console=session.out.stderr)
    session.print_json({"ok": code == 0, "exit_code": code})
    return code


def bench(
    session: Session,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Which benchmarks; default: all but the long ones.")
    ] = None,
) -> int:
    """Measure speed and cost against floors taken in the same run, and print a table.

    The exit code is 0 when everything was measured, whether or not a target was met.
    """
    from vardy_api.bench.runner import run_bench  # noqa: PLC0415 - see `vardy_api.cli`

    _quiet_settings(session)
    return run_bench(tuple(names or ()), as_json=session.as_json)
