"""The gateway's pages over HTTP: `/livez`, `/readyz`, `/metrics`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING

from doorkeeper.gateway.telemetry import Sample, metrics_text
from doorkeeper.metering.exposition import OPENMETRICS, PROMETHEUS

if TYPE_CHECKING:
    from doorkeeper.net.http import Page, Show


def pages(is_ready: Callable[[], bool], samples: Callable[[], Awaitable[Iterable[Sample]]]) -> Mapping[str, Show]:
    """Path to page. Alive is who answers; ready is who knows the cluster and is not on its way out."""
    from doorkeeper.net.http import Page

    async def live(accept: str) -> Page:
        return Page("alive\n")

    async def ready(accept: str) -> Page:
        if is_ready():
            return Page("ready\n")
        return Page("not ready: the cluster can't be reached, or the gateway is stopping\n", status=_NOT_READY)

    async def metrics(accept: str) -> Page:
        kind = OPENMETRICS if "openmetrics" in accept else PROMETHEUS
        return Page(metrics_text(await samples()), kind)

    return {"/livez": live, "/healthz": live, "/readyz": ready, "/metrics": metrics}


_NOT_READY = HTTPStatus.SERVICE_UNAVAILABLE
