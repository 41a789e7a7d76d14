"""A plugin of pytest: how long each test took, as JSON in the file that `BYTEATLAS_TEST_TIMES` names."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest


class Times:
    """The seconds of each test; with workers, the process that starts them hears of all."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0.0) + report.duration

    def pytest_sessionfinish(self) -> None:
        self._target.write_text(json.dumps(self._seconds))


def pytest_configure(config: pytest.Config) -> None:
    target = os.environ.get("BYTEATLAS_TEST_TIMES")
    if target and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Times(Path(target)))
