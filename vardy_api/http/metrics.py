"""Prometheus metrics of the API: requests, and jobs and messages as the store has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from vardy_worker.contracts.errors import TransientError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prometheus_client.core import Metric

    from vardy_api.operations.service import ServiceOperations

# Long polls are held back on purpose, up to a minute.
_SECONDS_BUCKETS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class HttpMetrics:
    """The registry of one application, and its request metrics."""

    def __init__(self, *, polls: Callable[[], int], streams: Callable[[], int]) -> None:
        self.registry = CollectorRegistry()
        waiting = Gauge("vardy_waiting_requests", "Requests held back until a job settles.", registry=self.registry)
        waiting.set_function(polls)
        following = Gauge("vardy_event_streams", "Streams of a job's events that are open.", registry=self.registry)
        following.set_function(streams)
        self._requests = Counter(
            "vardy_http_requests", "Requests answered.", ("method", "route", "status"), registry=self.registry
        )
        self._seconds = Histogram(
            "vardy_http_request_seconds",
            "Time to answer, the time a long poll is held back included.",
            ("method", "route"),
            buckets=_SECONDS_BUCKETS,
            registry=self.registry,
        )

        self._ceilings = Counter(
            "vardy_ceilings_reached",
            "Requests refused for a ceiling of a key or a person.",
            ("of", "limit"),
            registry=self.registry,
        )
        self._refused = Counter(
            "vardy_http_refused", "Requests refused before any route saw them.", ("code",), registry=self.registry
        )

    def refused(self, code: str) -> None:
        """Records one refusal of the server's own, by its problem code."""
        self._refused.labels(code).inc()

    def ceiling_reached(self, of: str, limit: str) -> None:
        """Records one request that was refused for a ceiling of a key or of a person."""
        self._ceilings.labels(of, limit).inc()

    def observe(self, *, method: str, route: str, status: int, seconds: float) -> None:
        """Records one request. `route` is the route's template, so that ids make no new series."""
        known = method if method in {"GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"} else "other"
        self._requests.labels(known, route, str(status)).inc()
        self._seconds.labels(known, route).observe(seconds)


class StoreMetrics(Collector):
    """Asked at every scrape: whether the store answers, jobs by status, messages by queue."""

    def __init__(self, service: ServiceOperations) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        """The gauges; without a store only that it is down."""
        up = GaugeMetricFamily("vardy_store_up", "Whether the store answers.")
        jobs = GaugeMetricFamily("vardy_jobs", "Jobs kept, by status.", labels=("status",))
        depth = GaugeMetricFamily("vardy_queue_depth", "Messages waiting.", labels=("queue",))
        try:
            for status, count in self._service.jobs_by_status().items():
                jobs.add_metric([status.value], count)
            for name, messages in self._service.depths().items():
                depth.add_metric([name], messages)
        except TransientError:
            up.add_metric([], 0)
            yield up
            return
        up.add_metric([], 1)
        yield from (up, jobs, depth)

    def describe(self) -> Iterator[Metric]:
        """Nothing, so that registering does not ask the store."""
        yield from ()
