"""Where maps of many files go, what is a pattern, and documents that command no terminal."""

from __future__ import annotations

import json

import pytest

from byteatlas.cli.arguments.inputs import InputFile, MapNames, _named, is_pattern
from byteatlas.cli.common import print_json


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("a*.nc", True),
        ("a?.nc", True),
        ("a[12].nc", True),
        ("a.nc", False),
        ("http://host/a*.nc", True),
        ("http://host/a.nc?q=*", False),
        ("https://host/a.nc?q=1", False),
        ("https://host/[1].nc", False),
        ("s3://bucket/a?.nc", True),
    ],
)
def test_patterns(name: str, wanted: bool) -> None:
    assert is_pattern(name) is wanted


@pytest.mark.parametrize("output", ["out", "out/", "out//"])
def test_names_in_a_folder(output: str) -> None:
    files = [InputFile("/data/x/a.nc", "/data"), InputFile("/data/b.nc/", "/data"), InputFile("/data/c", "/data")]
    assert list(_named(files, output, MapNames("json")).values()) == ["out/a.json", "out/b.json", "out/c.json"]
    suffixes = _named(files, output, MapNames("parquet", suffixes=True))
    assert list(suffixes.values()) == ["out/a.nc.parquet", "out/b.nc.parquet", "out/c.parquet"]
    below = _named(files, output, MapNames("json", folders=True))
    assert list(below.values()) == ["out/x/a.json", "out/b.json", "out/c.json"]
    assert list(_named(files[:1], "/", MapNames("json")).values()) == ["//a.json"]


def test_documents_command_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    document = {"name": "a\x1b[31mb\x7f", "word": "\u00e9", "list": [1, 2]}
    print_json(document)
    shown = capsys.readouterr().out
    assert json.loads(shown) == document
    assert "\x1b" not in shown
    assert "\x7f" not in shown
    assert "\u00e9" in shown
