"""The metrics of a server, in the text format of Prometheus."""

import time
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cdesearch.serve.admission import Admission
from cdesearch.serve.indexes import ServedIndexes
from cdesearch.serve.settings import API

BUCKETS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)  # seconds
UNKNOWN = "unknown"  # the label of requests that no route answers: clients must not be able to create labels
METHODS = frozenset({"GET", "HEAD", "POST", "DELETE", "OPTIONS"})


class ServerMetrics:
    """The metrics of one server, in a registry of their own."""

    def __init__(self, indexes: ServedIndexes, admission: Admission) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._registry.register(_Gauges(indexes, admission))
        self._requests = Counter(
            "cdesearch_requests", "Requests answered.", ("route", "method", "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "cdesearch_request_seconds",
            "Time to answer a request.",
            ("route",),
            buckets=BUCKETS,
            registry=self._registry,
        )

    def observe(self, scope: Scope, status: int, seconds: float) -> None:
        """Count one request and record the time that its response took."""
        route = _route_of(scope)
        method = scope["method"] if scope["method"] in METHODS else UNKNOWN
        self._requests.labels(route, method, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self._registry)


class Metered:
    """Middleware that measures every request, including requests that are refused."""

    def __init__(self, app: ASGIApp, metrics: ServerMetrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500

        async def send_measured(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_measured)
        finally:
            self._metrics.observe(scope, status, time.perf_counter() - started)


def _route_of(scope: Scope) -> str:
    """Return the path pattern of the route that answered, such as /api/v1/documents/{document_id:path}."""
    path: str | None = getattr(scope.get("route"), "path", None)
    if path is None:
        return UNKNOWN
    # In some versions of FastAPI, the path of a route does not contain the prefix of its router.
    return f"{API}{path.removeprefix(API)}" if scope["path"].startswith(f"{API}/") else path


class _Gauges(Collector):
    """Metrics that are computed when they are requested."""

    def __init__(self, indexes: ServedIndexes, admission: Admission) -> None:
        self._indexes = indexes
        self._admission = admission

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield GaugeMetricFamily("cdesearch_searches_running", "Searches that run.", self._admission.running)
        yield GaugeMetricFamily("cdesearch_searches_waiting", "Searches that wait.", self._admission.waiting)
        age = GaugeMetricFamily("cdesearch_generation_age_seconds", "Time since the last update.", labels=["index"])
        chunks = GaugeMetricFamily("cdesearch_index_chunks", "Chunks of the index.", labels=["index"])
        size = GaugeMetricFamily("cdesearch_index_bytes", "Size of the index on disk.", labels=["index"])
        refused = GaugeMetricFamily(
            "cdesearch_generation_refused", "1 if a newer generation cannot be used.", labels=["index"]
        )
        for served in self._indexes:
            index = served.index
            age.add_metric([served.name], time.time() - index.manifest.updated)
            chunks.add_metric([served.name], index.manifest.n_chunks)
            size.add_metric([served.name], index.size_bytes())
            refused.add_metric([served.name], float(served.problem is not None))
        yield from (age, chunks, size, refused)
