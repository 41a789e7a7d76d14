"""A short soak; ``python -m tests.soak --minutes 30`` is the long one."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

for needed in ("h5py", "xarray", "zarr"):
    pytest.importorskip(needed)


@pytest.mark.slow
def test_nothing_is_stale() -> None:
    command = [sys.executable, "-m", "tests.soak", "--minutes", "0.15"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    lines = [json.loads(line) for line in found.stdout.splitlines()]
    assert len(lines) == 2, found.stderr
    assert [line["wrong"] for line in lines] == [[], []]
