"""Structured logs: events are constants with keyword data; ids, never objects, rows or secrets."""

from __future__ import annotations

import logging
import re
import sys
from io import StringIO
from typing import TYPE_CHECKING, Final, TextIO

import structlog

if TYPE_CHECKING:
    from structlog.typing import EventDict, ExcInfo, FilteringBoundLogger, Processor, WrappedLogger

_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Those but tabs and line breaks, which tracebacks have."""


def configure_logs(log_format: str, level: str = "info") -> None:
    """Sends structlog and the standard library's loggers through one renderer, to stderr."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderer: Processor = (
        structlog.processors.JSONRenderer()
        if log_format == "json"
        # Not the default formatter: it prints the local variables of every frame, rows and secrets included.
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=_harmless_traceback)
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    processors: list[Processor] = [
        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
        # JSON spells control characters out by itself.
        structlog.processors.format_exc_info if log_format == "json" else _harmless_values,
    ]
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=[*processors, renderer])
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # Their info lines repeat, per message or request, what Vardy's own summary lines say.
    for noisy in ("celery", "kombu", "httpx", "httpcore", "LiteLLM", "uvicorn.access", "openai"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def _harmless(text: str) -> str:
    """The text without power over a terminal that it is shown in: control characters are spelled out."""
    return _CONTROLS.sub(lambda found: f"\\x{ord(found.group()):02x}", text)


def _harmless_values(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    return {name: _harmless(value) if isinstance(value, str) else value for name, value in event.items()}


def _harmless_traceback(out: TextIO, error: ExcInfo) -> None:
    """Writes a traceback. Messages of exceptions are anybody's words, of a company's functions for one."""
    text = StringIO()
    structlog.dev.plain_traceback(text, error)
    out.write(_harmless(text.getvalue()))


def get_logger(name: str) -> FilteringBoundLogger:
    """A logger bound to a module's name."""
    logger: FilteringBoundLogger = structlog.get_logger(name)
    return logger
