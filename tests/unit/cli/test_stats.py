"""``--stats``: what was asked of servers, after the command, on standard error."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import numpy as np
import pytest
from tests.array_support import RAW, virtual
from tests.http_server import serve
from tests.unit.cli.test_commands import call, loaded

import byteatlas as ba
from byteatlas.cli.common import traffic_text
from byteatlas.cli.overview import COMMANDS
from byteatlas.io.traffic.counters import Counters
from byteatlas.manifest.model import VirtualGroup
from byteatlas.meta.model import Encoding, RegularGrid

h5py = pytest.importorskip("h5py")
LOCAL = {"demo"}
"""Commands that take nothing from elsewhere."""


def _options(command: click.Command) -> set[str]:
    below = list(command.commands.values()) if isinstance(command, click.Group) else []
    return {name for one in [command, *below] for p in one.params for name in p.opts}


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - LOCAL))
def test_every_command_that_reads_has_it(name: str) -> None:
    assert "--stats" in _options(loaded(name))


def test_what_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    node, _, _ = virtual(np.arange(100), RegularGrid((10,)), [Encoding(RAW)], missing=0, inline=0)
    ba.write(VirtualGroup(arrays={"a": node}), tmp_path / "m.json")
    text = (tmp_path / "m.json").read_bytes()
    with serve({"/m.json": text}) as web:
        status, out, said = call("info", f"{web.url}/m.json", "--stats", "--json", capsys=capsys)
        assert status == 0
        assert list(json.loads(out)["arrays"])
        assert re.fullmatch(r"network: 1 request in 1 round; .* fetched, .* wanted; \d+\.\d\d s waited\n", said)
        _, _, said = call("info", f"{web.url}/m.json", capsys=capsys)
        assert said == ""
        status, _, said = call("info", f"{web.url}/none.json", "--stats", capsys=capsys)
        assert status == 4
        assert "network: 1 request" in said
    _, _, said = call("info", tmp_path / "m.json", "--stats", capsys=capsys)
    assert said == "network: no requests\n"


def test_retries_are_told_when_there_were_some() -> None:
    counted = Counters(10, 3, 1_000_000, 2_500_000, 2, 1.25)
    assert traffic_text(counted) == (
        "network: 10 requests in 3 rounds, 2 retries; 2.5 MB fetched, 1.0 MB wanted; 1.25 s waited"
    )


@pytest.mark.parametrize("executor", ["serial", "threads:2", "processes:2"])
def test_workers_are_counted(executor: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["a"] = np.arange(10)
    data = (tmp_path / "a.h5").read_bytes()
    with serve({f"/{i}.h5": data for i in range(4)}) as web:
        urls = [f"{web.url}/{i}.h5" for i in range(4)]
        access = ba.Access()
        done = ba.scan_many(urls, executor, access=access)
        assert done.ok
        assert access.counters.requests == len(web.requests)
        assert access.counters.fetched > 0
