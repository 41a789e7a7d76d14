"""Requests and retries in logs and traces. URLs are masked.

Traces are OpenTelemetry's, where the program has imported it: a span for each request, named as its conventions for
HTTP clients say (semantic conventions 1.23: ``http.request.method``, ``url.full``).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

REQUESTS, RETRIES = "byteatlas.io.sources", "byteatlas.io.retry"
"""Names of the loggers."""


def tell_request(url: str, method: str, count: int, fetched: int, seconds: float) -> None:
    """One line (debug) for requests that were answered, or failed."""
    if "logging" not in sys.modules:  # nobody listens
        return
    import logging

    logger = logging.getLogger(REQUESTS)
    if logger.isEnabledFor(logging.DEBUG):
        from byteatlas.masking import masked

        what = method if count == 1 else f"{count} x {method}"
        logger.debug("%s %s: %d bytes in %.3f s", what, masked(url), fetched, seconds)


def tell_retry(url: str, why: str, pause: float) -> None:
    """One line (info) for what is asked for again."""
    import logging

    from byteatlas.masking import masked

    logging.getLogger(RETRIES).info("%s: %s; again in %.1f s", masked(url), masked(why), pause)


class RequestSpan:
    """A span of OpenTelemetry around a request; nothing where the program does not use it."""

    __slots__ = ()

    @contextmanager
    def of(self, url: str, method: str) -> Iterator[None]:
        trace = sys.modules.get("opentelemetry.trace")
        if trace is None:
            yield
            return
        from byteatlas.masking import masked

        attributes = {"http.request.method": method, "url.full": masked(url)}
        tracer = trace.get_tracer("byteatlas")
        with tracer.start_as_current_span(f"byteatlas {method}", attributes=attributes):
            yield
