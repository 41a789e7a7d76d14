"""What the documentation names is there."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest
from tests.places import ROOT

from byteatlas.codecs.core.table import BUILTIN

NAME = re.compile(r"\bbyteatlas(?:_scanners)?(?:\.[a-zA-Z_]\w*)+")
PAGES = [
    path
    for pattern in ("README.md", "pyproject.toml", "docs/**/*.md", "docs/**/*.py", "src/**/*.py", "scanners/**/*.py")
    for path in sorted(ROOT.glob(pattern))
]
ENCODINGS = "byteatlas.encodings"
"""The codec of arrays whose files differ (`byteatlas.meta.encodings`)."""
DATA_TYPES = frozenset({"byteatlas.object", "byteatlas.subarray", "byteatlas.vlen"})
ENTRY_POINTS = frozenset({"byteatlas.scanners", "byteatlas.credentials"})
OTHERS = DATA_TYPES | ENTRY_POINTS | {ENCODINGS}
"""Names that are no modules, beside those of codecs."""
GONE = frozenset(
    {
        "byteatlas.array.copy",
        "byteatlas.array.create",
        "byteatlas.array.write",
        "byteatlas.combine.ops",
        "byteatlas.executors.for_each",
        "byteatlas.meta.zom_schema",
        "byteatlas.scan.contract",
        "byteatlas.verify.report",
    }
)
"""What the changelog says has another name now."""


def there(name: str) -> bool:
    """Whether a dotted name leads to a module, or to something in one."""
    parts = name.split(".")
    for i in range(len(parts), 0, -1):
        try:
            found: object = import_module(".".join(parts[:i]))
        except ModuleNotFoundError:
            continue
        for part in parts[i:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


def is_codec(name: str) -> bool:
    """``byteatlas.crop`` names a codec, ``byteatlas.hdf5`` and ``byteatlas.tiff_`` begin the names of several."""
    return any(known.startswith(name) for known in BUILTIN)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_names_of_modules_lead_somewhere(page: Path) -> None:
    names = set(NAME.findall(page.read_text(encoding="utf-8"))) - OTHERS
    if page.name == "changelog.md":
        names -= GONE
    assert not [name for name in sorted(names) if not there(name) and not is_codec(name)]


def test_the_search_finds_what_is_gone() -> None:
    assert there("byteatlas.scanning.contract.Scanner")
    assert not any(map(there, GONE))


def test_every_room_is_on_the_map() -> None:
    """Packages and single modules of the first floor down."""
    text = (ROOT / "docs/contributing.md").read_text(encoding="utf-8")
    for root in ("src/byteatlas", "scanners/byteatlas_scanners"):
        places = [*(ROOT / root).glob("*/__init__.py"), *(ROOT / root).glob("[!_]*.py")]
        names = {(p.parent if p.name == "__init__.py" else p.with_suffix("")).name for p in places}
        assert names
        package = Path(root).name
        assert not [name for name in sorted(names) if f"`{package}.{name}`" not in text]
