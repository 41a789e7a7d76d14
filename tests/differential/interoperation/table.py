"""Who reads what we write: ``python -m tests.differential.interoperation.table`` makes the status page's tables."""

from __future__ import annotations

import tempfile
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from _pytest.outcomes import Skipped
from numpy.typing import NDArray
from tests.differential.interoperation.readers import READERS, equal
from tests.differential.interoperation.writers import FEATURES, WRITERS

import byteatlas as ba
from byteatlas.meta.attributes import MASKS

PACKAGES = ("zarr", "xarray", "fsspec", "kerchunk", "virtualizarr", "icechunk", "tensorstore", "zarrs")
MASKING = "the same, masking"
FLOATS = "floats"
"""Integers that the file says nothing of became floating-point numbers: the fill value was taken for a marker."""
READ, PART, REFUSED, WRONG, ABSENT = "yes", "part", "refused", "WRONG", "absent"


Expected: TypeAlias = dict[str, tuple[NDArray[Any], bool]]


def ours(vg: Any) -> Expected:
    """Our values by path, and whether the file says which of them are missing."""
    root: Any = ba.open(vg)
    arrays = {path: node for path, node in root.walk() if isinstance(node, ba.Array)}
    return {path: (np.asarray(node[...]), any(m in node.attrs for m in MASKS)) for path, node in arrays.items()}


def outcomes(feature: str, writer: str, readers: list[str], folder: Path) -> dict[str, str]:
    """What becomes of one feature in one form with each of these readers.

    ``part``: right values, of some of the arrays; a reader shows what it can and says nothing of the rest.
    """
    folder.mkdir(parents=True, exist_ok=True)
    vg = FEATURES[feature](folder)
    expected = ours(vg)
    try:
        written = WRITERS[writer](vg, folder)
    except ImportError:
        return dict.fromkeys(readers, ABSENT)
    except Exception:  # whatever the writer's library raises: nothing was written
        return dict.fromkeys(readers, "not written")
    return {reader: _read(reader, written, expected) for reader in readers}


def _read(reader: str, written: Path, expected: Expected) -> str:
    try:
        found = READERS[reader](written)
    except Skipped:
        return ABSENT
    except Exception:  # a refusal, in whatever words
        return REFUSED
    if not found:
        return REFUSED
    if reader == MASKING:
        lost = [
            name
            for name, (values, marked) in expected.items()
            if not marked and name in found and values.dtype.kind in "iu" and np.asarray(found[name]).dtype.kind == "f"
        ]
        return FLOATS if lost else READ if len(found) == len(expected) else PART
    if not all(name in expected and equal(values, expected[name][0]) for name, values in found.items()):
        return WRONG
    return READ if len(found) == len(expected) else PART


def versions() -> str:
    """What the tables depend on."""
    return ", ".join(f"{name} {version(name)}" for name in PACKAGES)


def tables() -> str:
    """All of it, as Markdown."""
    lines = [f"Made with {versions()}."]
    with tempfile.TemporaryDirectory() as temporary, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for nth, writer in enumerate(WRITERS):
            lines += ["", f"### {writer}", "", f"| | {' | '.join(READERS)} |", "|---" * (len(READERS) + 1) + "|"]
            for number, feature in enumerate(FEATURES):
                found = outcomes(feature, writer, list(READERS), Path(temporary, f"{nth}-{number}"))
                lines.append(f"| {feature} | {' | '.join(found[reader] for reader in READERS)} |")
    return "\n".join(lines).strip() + "\n"


if __name__ == "__main__":
    print(tables(), end="")
