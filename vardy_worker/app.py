"""The Celery entry point: `vardy worker`, or `celery -A vardy_worker.app worker`."""

from __future__ import annotations

import os
import sys
import warnings
from typing import TYPE_CHECKING, Any

from celery import signals
from celery.platforms import SecurityWarning
from kombu import Exchange, Queue

from vardy_worker.broker import use_patient_transports
from vardy_worker.contracts.errors import SettingsError, VardyError
from vardy_worker.logs import configure_logs, get_logger
from vardy_worker.queue import QUEUES, make_celery
from vardy_worker.settings import load_settings
from vardy_worker.tasks import register_tasks

if TYPE_CHECKING:
    from celery import Celery

    from vardy_worker.process import WorkerProcess
    from vardy_worker.settings import Settings

log = get_logger(__name__)


def create_app(settings: Settings) -> Celery:
    """The Celery application, with the worker's own start and stop tied to Celery's.

    The worker is built when Celery starts (never at import), so that a producer or a shell
    can import this module without opening anything.
    """
    use_patient_transports()
    celery = make_celery(settings)
    celery.conf.update(
        worker_pool="threads",
        worker_consumer="vardy_worker.consumer:PatientConsumer",
        worker_concurrency=settings.worker_concurrency,
        task_queues=[_queue(QUEUES[name]) for name in settings.worker_queues],
    )
    running: list[WorkerProcess] = []

    def start(**_: Any) -> None:
        from vardy_worker.bootstrap import build_worker  # noqa: PLC0415 - a producer needs none of it

        configure_logs(settings.log_format, settings.log_level)
        try:
            worker = build_worker(settings, celery)
            worker.start()
        # Celery swallows the exceptions of signal handlers, and would serve without any part.
        except VardyError as error:
            log.error("worker.not_started", code=error.code, reason=error.message)  # noqa: TRY400 - one sentence
            sys.exit(1)
        except Exception:
            log.exception("worker.not_started", code="internal")
            sys.exit(1)
        running.append(worker)

    def ready(**_: Any) -> None:
        log.info("worker.ready", queues=list(settings.worker_queues), concurrency=settings.worker_concurrency)

    def stop(**_: Any) -> None:
        while running:
            running.pop().stop()

    signals.worker_init.connect(start, weak=False)
    signals.worker_ready.connect(ready, weak=False)
    signals.worker_shutdown.connect(stop, weak=False)
    # Logging is the worker's own, configured above.
    signals.setup_logging.connect(lambda **_: None, weak=False)
    register_tasks(celery, lambda: running[0])
    return celery


def _queue(name: str) -> Queue:
    # An exchange and a key of its own: queues that share them get each other's messages.
    return Queue(name, Exchange(name, type="direct"), routing_key=name)


def run_worker(settings: Settings) -> None:
    """Serves the queues of the settings until SIGTERM or Ctrl-C; running jobs are finished first."""
    settings.need("redis_url", "functions")
    configure_logs(settings.log_format, settings.log_level)
    # One line of the log says it in place of Celery's eight.
    warnings.simplefilter("ignore", SecurityWarning)
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        log.warning("worker.runs_as_root")
    create_app(settings).worker_main(
        # Its own two lines say what the banner would.
        ["--quiet", "worker", "--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel=WARNING"]
    )


def _app() -> Celery:
    try:
        return create_app(load_settings())
    except SettingsError as error:
        sys.exit(error.message)


def __getattr__(name: str) -> Any:
    # `celery -A vardy_worker.app` asks for `app`; importing the module alone builds nothing.
    if name in {"app", "celery"}:
        return globals().setdefault("app", _app())
    raise AttributeError(name)
