"""A plugin of pytest: how long each test took and which failed, as JSON where `BYTEATLAS_TEST_TIMES` says."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest


class Times:
    """The seconds of each test, and the tests that failed."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._seconds: dict[str, float] = {}
        self._failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self._failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self._target.write_text(json.dumps({"seconds": self._seconds, "failed": sorted(self._failed)}))


def pytest_configure(config: pytest.Config) -> None:
    target = os.environ.get("BYTEATLAS_TEST_TIMES")
    if target and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Times(Path(target)))
