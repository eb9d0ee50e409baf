"""Logs of a test process."""

from __future__ import annotations

import structlog

from vardy_worker.logs import configure_logs


def configure_test_logs(level: str) -> None:
    """As a process of the product, but without keeping loggers: a kept one escapes `capture_logs` of later tests."""
    configure_logs("json", level)
    structlog.configure(cache_logger_on_first_use=False)
