"""Which scanner gets a file, and what is imported for it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.places import FIXTURES, ROOT

from byteatlas.errors import BadRequest
from byteatlas.importing import object_named
from byteatlas.io.open import SourcePool
from byteatlas.io.sources.memory import MemorySource
from byteatlas.manifest.model import SourceInfo, VirtualGroup
from byteatlas.scanning.contract import FirstBytes, Parse, Scanner, ScanOptions
from byteatlas.scanning.driver import pick, recognise, scan_source
from byteatlas.scanning.plugins import announced_elsewhere, installed, targets_of
from byteatlas_scanners import BUILT_IN

PLUGIN = """
from byteatlas.scanning.contract import Scanner
from byteatlas.manifest.model import VirtualGroup
from byteatlas.meta.model import GroupMeta

class Theirs(Scanner):
    name, priority = "theirs", {priority}

    def sniff(self, first):
        return first.data.startswith(b"CDF")

    def scan(self, source, options):
        return VirtualGroup(GroupMeta({{"by": "them"}}))
        yield ()

SCANNER = Theirs()
"""


def test_the_table_is_what_pyproject_announces() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {row.name: row.target for row in BUILT_IN} == project["entry-points"]["byteatlas.scanners"]
    assert list(installed()) == [row.name for row in BUILT_IN]
    for row in BUILT_IN:
        scanner = installed()[row.name]
        assert scanner.name == row.name
        assert scanner.verify is None or callable(object_named(scanner.verify))


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*/*.*")), ids=lambda p: str(p.name))
def test_the_table_knows_every_file_that_a_scanner_knows(path: Path) -> None:
    data = path.read_bytes()
    first = FirstBytes(data[:4096], str(path), len(data))
    known = {row.name for row in BUILT_IN if row.likely(first.data, first.url)}
    assert {name for name, scanner in installed().items() if scanner.sniff(first)} <= known


def test_one_file_costs_one_scanner() -> None:
    """No other scanner, and nobody's entry points."""
    code = (
        "import sys, byteatlas as ba; ba.scan(sys.argv[1]);"
        "print([m for m in sys.modules if m.startswith('byteatlas_scanners.') and m.count('.') == 1],"
        "'importlib.metadata' in sys.modules)"
    )
    path = str(FIXTURES / "netcdf3" / "cdf1.nc")
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    assert done.stdout.split("]")[0] == "['byteatlas_scanners.netcdf3'"


@pytest.mark.parametrize(("priority", "by"), [(1, "them"), (0, None), (-1, None)])
def test_a_plugin_of_higher_priority_wins(tmp_path: Path, priority: int, by: str | None) -> None:
    (tmp_path / "their_package.py").write_text(PLUGIN.format(priority=priority))
    info = tmp_path / "their_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[byteatlas.scanners]\ntheirs = their_package:SCANNER\n")
    assert announced_elsewhere([str(tmp_path)])
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]);"
        "import byteatlas as ba; print(ba.scan(sys.argv[2]).attributes.get('by'),"
        "ba.scan(sys.argv[2], format='theirs').attributes['by'])"
    )
    path = str(FIXTURES / "netcdf3" / "cdf1.nc")
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path), path], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(by), "them"]


def test_packages_without_scanners_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a-1.dist-info").mkdir()
    (tmp_path / "a-1.dist-info" / "entry_points.txt").write_text("[console_scripts]\na = a:main\n")
    (tmp_path / "b-1.dist-info").mkdir()
    (tmp_path / "byteatlas-9.dist-info").mkdir()
    (tmp_path / "byteatlas-9.dist-info" / "entry_points.txt").write_text("[byteatlas.scanners]\n")
    assert not announced_elsewhere([str(tmp_path), "/no/such/folder", ""])


def test_two_plugins_of_one_name_are_an_error() -> None:
    assert targets_of([("a", "m:A"), ("a", "m:A"), ("b", "m:B")]) == {"a": "m:A", "b": "m:B"}
    with pytest.raises(BadRequest, match="two scanners are named 'a': m:A and n:A"):
        targets_of([("a", "m:A"), ("a", "n:A")])


class ByName(Scanner):
    """Recognises its files by their names and sizes."""

    name = "by-name"

    def __init__(self, priority: int = 0) -> None:
        self.priority = priority

    def sniff(self, first: FirstBytes) -> bool:
        return first.url.endswith(".mine") and first.size == 3

    def scan(self, source: SourceInfo, options: ScanOptions) -> Parse[VirtualGroup]:
        return VirtualGroup()
        yield ()


class Everything(ByName):
    name = "everything"

    def sniff(self, first: FirstBytes) -> bool:
        return True


def test_recognition_sees_url_and_size() -> None:
    scanners: dict[str, Any] = {"everything": Everything(), "by-name": ByName(priority=5)}
    for url, data, expected in (
        ("a.mine", b"abc", "by-name"),
        ("a.mine", b"ab", "everything"),
        ("a", b"abc", "everything"),
    ):
        assert recognise(MemorySource(data, url), SourcePool(), scanners).name == expected
    assert pick(scanners, FirstBytes(b"abc", "a.mine", 3), "everything").name == "everything"


def test_options_that_a_scanner_does_not_have(tmp_path: Path) -> None:
    path = tmp_path / "a.mine"
    path.write_bytes(b"abc")
    for extra in ({"by-name": {"speed": 1}}, {"by-name": 3}):
        with pytest.raises(BadRequest, match="known: none"):
            scan_source(MemorySource(b"abc", str(path)), SourcePool(), {"by-name": ByName()}, ScanOptions(extra=extra))
