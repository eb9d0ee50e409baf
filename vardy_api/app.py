"""Serving the API with uvicorn.

`vardy api` calls `serve`. Any ASGI server can use the factory: `uvicorn --factory vardy_api.app:create_app`.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import uvicorn

from vardy_api.bootstrap import build_api
from vardy_api.http.server import ConnectionLimits, ServerConfig
from vardy_api.open_files import allow_open_files
from vardy_worker.contracts.errors import SettingsError
from vardy_worker.logs import configure_logs
from vardy_worker.settings import load_settings

if TYPE_CHECKING:
    from types import FrameType

    from vardy_api.http.application import Api
    from vardy_worker.settings import Settings

STOP_SECONDS_MAX = 10
"""Requests under way get this long to end; those that only wait for a job are answered at once."""


def create_app() -> Api:
    """The application with the settings of the environment. A wrong setting ends the process with its sentence."""
    try:
        settings = load_settings()
        configure_logs(settings.log_format, settings.log_level)
        return build_api(settings)
    except SettingsError as error:
        raise SystemExit(error.message) from error


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, api: Api) -> None:
        super().__init__(config)
        self._api = api

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Ends cleanly: held-back requests answer at once, and the signal is not raised again afterwards."""
        del frame
        self._api.stop_waiting()
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
        self.should_exit = True


def serve(settings: Settings, *, host: str | None = None, port: int | None = None) -> None:
    """Serves until SIGINT or SIGTERM. Raises `SettingsError` when it cannot start."""
    allow_open_files()
    api = build_api(settings)
    config = ServerConfig(
        api,
        limits=ConnectionLimits(connections_max=settings.connections_max),
        host=host or settings.api_host,
        port=settings.api_port if port is None else port,
        timeout_graceful_shutdown=STOP_SECONDS_MAX,
    )
    _Server(config, api).run()
