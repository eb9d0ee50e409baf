"""Serving the API with uvicorn.

`vardy api` calls `serve`. Any ASGI server can use the factory: `uvicorn --factory vardy_api.app:create_app`.
"""

from __future__ import annotations

import gc
import signal
from typing import TYPE_CHECKING

import uvicorn

from vardy_api.bootstrap import build_api
from vardy_api.http.loopback import is_loopback
from vardy_api.http.server import ConnectionLimits, ServerConfig
from vardy_api.open_files import allow_open_files
from vardy_worker.contracts.errors import SettingsError
from vardy_worker.logs import configure_logs, get_logger
from vardy_worker.settings import load_settings

if TYPE_CHECKING:
    from types import FrameType

    from vardy_api.http.application import Api
    from vardy_worker.settings import Settings

STOP_SECONDS_MAX = 10
"""Requests under way get this long to end; those that only wait for a job are answered at once."""
FILES_KEPT = 200
"""Files that are no clients' connections: those to Redis, the listening socket, what Python opens."""

log = get_logger(__name__)


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
    connections_max = connections_allowed(settings.connections_max, allow_open_files())
    host = host or settings.api_host
    if not is_loopback(host) and not settings.trusted_proxies:
        log.warning("api.no_proxy", host=host)
    # A full collection of garbage would look at everything that libraries made, which stops the process for a
    # tenth of a second: longer than the answer may take that waits for it.
    api = build_api(settings, loaded=gc.freeze)
    config = ServerConfig(
        api,
        limits=ConnectionLimits(connections_max=connections_max),
        host=host,
        port=settings.api_port if port is None else port,
        timeout_graceful_shutdown=STOP_SECONDS_MAX,
    )
    _Server(config, api).run()


def connections_allowed(wanted: int, open_files: int | None) -> int:
    """The connections that are taken: as many as are set, or as the system lets the process have open.

    Above that the system would refuse them without a word, and Redis with them.
    """
    if open_files is None or wanted <= open_files - FILES_KEPT:
        return wanted
    possible = max(1, open_files - FILES_KEPT)
    log.warning("api.few_open_files", open_files=open_files, connections_max=possible, wanted=wanted)
    return possible
