"""What the library imports is what it declares, in its dependencies and extras."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.places import ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
OWN = {"byteatlas", "byteatlas_scanners"}
FOR_DEVELOPERS = {"test", "dev", "bench", "docs", "mutation"}
NOT_SHIPPED = {"make_registry.py": {"pyproj"}, "parametrize.py": {"pytest"}}
"""Programs that write tables, what is for tests of others, and what they need of the extra ``test``."""
THROUGH_OTHERS = {
    "requests": "fsspec's protocols that are not asynchronous",
    "s3fs": "fsspec opens s3:// with it",
    "gcsfs": "fsspec opens gs:// with it",
    "adlfs": "fsspec opens az:// with it",
    "uvloop": "uvicorn takes it where it is installed",
    "cftime": "dates that users pass, and those that xarray decodes",
}
"""Declared and not imported by name, because another package does."""


def distribution(requirement: str) -> str:
    """The name of a requirement, as it is imported.

    >>> distribution("dask[array]>=2025.1")
    'dask'
    """
    found = re.match(r"[\w.-]+", requirement)
    assert found is not None
    return found.group().replace("-", "_").lower()


def imported(path: Path) -> Iterator[str]:
    """Top-level names that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def third_party() -> dict[str, str]:
    """Every package of others that the library and the scanners import, and a module that does."""
    found: dict[str, str] = {}
    for path in sorted([*ROOT.glob("src/**/*.py"), *ROOT.glob("scanners/**/*.py")]):
        for name in imported(path):
            if name not in OWN | set(sys.stdlib_module_names) and name not in NOT_SHIPPED.get(path.name, ()):
                found[name.lower()] = str(path.relative_to(ROOT))
    return found


def declared(extras: set[str]) -> set[str]:
    """Distributions of the dependencies and of these extras."""
    found = {distribution(r) for r in PROJECT["dependencies"]}
    return found | {distribution(r) for extra in extras for r in EXTRAS[extra]} - {"byteatlas"}


def members(extra: str) -> set[str]:
    """Extras that an extra consists of."""
    inside = [re.fullmatch(r"byteatlas\[(.+)\]", r) for r in EXTRAS[extra]]
    return {name for found in inside if found for name in found.group(1).split(",")}


def test_every_import_is_declared() -> None:
    known = declared(set(EXTRAS) - FOR_DEVELOPERS)
    assert {name: where for name, where in third_party().items() if name not in known} == {}


def test_every_dependency_is_imported() -> None:
    known = declared(set(EXTRAS) - FOR_DEVELOPERS)
    assert known - set(third_party()) == set(THROUGH_OTHERS)


def test_all_has_every_extra() -> None:
    assert members("all") == set(EXTRAS) - FOR_DEVELOPERS - {"all"}


def test_extras_are_known_where_they_are_named() -> None:
    """`MissingExtra` names an extra that exists."""
    named = set()
    for path in [*ROOT.glob("src/**/*.py"), *ROOT.glob("scanners/**/*.py")]:
        named |= set(re.findall(r"MissingExtra\(\s*\"(\w+)\"", path.read_text(encoding="utf-8")))
    assert len(named) > 5
    assert named <= set(EXTRAS)


def test_what_writes_tables_is_declared_for_developers() -> None:
    names = {name for packages in NOT_SHIPPED.values() for name in packages}
    assert names <= declared({"test"})
