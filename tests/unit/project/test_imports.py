"""The graph of imports: no circle, no exception, no room that is too full."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.places import ROOT

ROOTS = ("src", "scanners")
MOST_MODULES = 16


def modules() -> dict[str, Path]:
    """Every module of both source roots by its name."""
    found = {}
    for root in ROOTS:
        for path in (ROOT / root).rglob("*.py"):
            found[".".join(path.relative_to(ROOT / root).with_suffix("").parts).removesuffix(".__init__")] = path
    return found


def imported(tree: ast.AST, known: Mapping[str, Path]) -> Iterator[str]:
    """The modules that a file imports, wherever in it: in functions and for the type checker too."""
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            while name and name not in known:
                name = name.rpartition(".")[0]
            if name:
                yield name


def graph() -> dict[str, set[str]]:
    known = modules()
    return {
        name: {found for found in imported(ast.parse(path.read_text(encoding="utf-8")), known) if found != name}
        for name, path in known.items()
    }


def circles(edges: Mapping[str, set[str]]) -> list[list[str]]:
    """Modules in circles (or between two): what is left when those that import nothing, or that nothing imports, go.

    >>> circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}})
    [['b', 'c']]
    """
    left = {name: set(targets) for name, targets in edges.items()}
    while True:
        named = {target for targets in left.values() for target in targets}
        gone = {name for name, targets in left.items() if not targets or name not in named}
        if not gone:
            break
        left = {name: targets - gone for name, targets in left.items() if name not in gone}
    return [sorted(left)] if left else []


def test_no_circle_of_imports() -> None:
    edges = graph()
    assert len(edges) > 250
    assert sum(map(len, edges.values())) > 1000
    assert circles(edges) == []


def test_the_search_finds_circles() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": set()}) == [["a", "b", "c"]]


@pytest.mark.parametrize("root", ROOTS)
def test_no_room_is_too_full(root: str) -> None:
    folders = {path.parent for path in (ROOT / root).rglob("*.py")}
    full = {str(f.relative_to(ROOT)): n for f in folders if (n := len(list(f.glob("*.py")))) > MOST_MODULES}
    assert not full


def test_the_layers_have_no_exception() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    for contract in settings["contracts"]:
        assert "ignore_imports" not in contract, contract["name"]
        assert contract.get("unmatched_ignore_imports_alerting") is None


FOREIGN_TO_SCANS = ("byteatlas.combining", "byteatlas.array", "byteatlas.verifying", "byteatlas.store", "pyarrow")
"""What a scan has no use for; nothing else takes as long to import."""


def test_a_scan_imports_what_it_needs() -> None:
    code = (
        "import sys, byteatlas; byteatlas.scan(sys.argv[1]).report;"
        "print(*(m for m in sys.modules if m.startswith(tuple(sys.argv[2:]))))"
    )
    file = str(ROOT / "fixtures" / "netcdf3" / "cdf1.nc")
    command = [sys.executable, "-c", code, file, *FOREIGN_TO_SCANS]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() == []
