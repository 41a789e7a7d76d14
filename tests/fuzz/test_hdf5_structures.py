"""HDF5 files whose structures say what no library wrote, with sound checksums: what h5py reads, or an error.

`hdf5_structures` makes them; ``python -m tests.fuzz.run_hdf5`` is the long version.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.fuzz.hdf5_structures import FIELDS, Original, originals
from tests.fuzz.run_hdf5 import run
from tests.scanning import scan_bytes

from byteatlas.errors import CorruptFile
from byteatlas_scanners.hdf5 import SCANNER

MUTANTS = 8
"""Of each file."""
NOT_HERE = frozenset({b"SMLI"})
"""Structures that no file of ours has: libhdf5 makes a list of shared messages in files with few of them only."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Original]:
    return originals(tmp_path_factory.mktemp("structures"))


def changed(original: Original, sign: bytes, at: int, value: bytes, which: int = 0) -> bytes:
    """A file with other bytes at a place of one structure, its checksum made anew."""
    found = [s for s in original.structures if s.sign == sign][which]
    out = bytearray(original.data)
    assert out[found.at + at : found.at + at + len(value)] != value
    out[found.at + at : found.at + at + len(value)] = value
    found.seal(out)
    return bytes(out)


def test_every_kind_of_structure_is_there(sound: dict[str, Original]) -> None:
    kinds = {kind for original in sound.values() for kind in original.kinds}
    assert kinds == {*FIELDS, b"OHDR", b"page", b"chunk"} - NOT_HERE


def test_the_sound_files_are_read(sound: dict[str, Original], tmp_path: Path) -> None:
    for name, original in sound.items():
        path = tmp_path / f"{name}.h5"
        path.write_bytes(original.data)
        found = run(str(path))
        assert (found["outcome"], found["wrong"], found["lenient"]) == ("read", [], []), name


def test_checksums_of_mutants_are_sound(sound: dict[str, Original]) -> None:
    """Sealing what is sound changes nothing, and sealing twice is sealing once."""
    for original in sound.values():
        for found in original.structures:
            again = bytearray(original.data)
            found.seal(again)
            assert bytes(again) == original.data


@pytest.mark.parametrize("name", ["indexes", "long", "dense", "links", "virtual", "dimensions", "shared_messages.h5"])
def test_mutants(sound: dict[str, Original], name: str, tmp_path: Path) -> None:
    for number in range(MUTANTS):
        data, said = sound[name].mutant(random.Random(f"{name}/{number}"))
        path = tmp_path / "mutant.h5"
        path.write_bytes(data)
        found = run(str(path))
        assert found["outcome"] in ("read", "refused", "h5py died"), (said, found)
        assert not found.get("wrong"), (said, found)


def swapped(original: Original, sign: bytes, head: int, record: int, which: int = 0) -> bytes:
    """A file in which the first two records of a structure change places."""
    found = [s for s in original.structures if s.sign == sign][which]
    at = found.at + head
    first, second = original.data[at : at + record], original.data[at + record : at + 2 * record]
    return changed(original, sign, head, second + first, which)


def refused(data: bytes, path: str) -> str | None:
    """Why a dataset is refused; None: it is not."""
    (found,) = [item for item in scan_bytes(SCANNER, data).report if item.path == path]
    return found.detail if found.status == "refused" else None


def test_chunks_of_a_tree_that_a_search_would_miss(sound: dict[str, Original]) -> None:
    """libhdf5 finds nothing there, and reads fill values: records out of order, in leaves and above them."""
    long = sound["long"]
    assert refused(long.data, "tree") is None
    assert "out of order" in str(refused(swapped(long, b"BTLF", 6, 24), "tree"))
    scaled = (6 + 8, (99).to_bytes(8, "little"))  # the first record of the root belongs between its first two children
    assert "out of order" in str(refused(changed(long, b"BTIN", *scaled), "tree"))


def test_names_that_a_search_would_miss(sound: dict[str, Original]) -> None:
    links = sound["links"]
    with pytest.raises(CorruptFile, match="out of order"):
        scan_bytes(SCANNER, swapped(links, b"BTLF", 6, 11))
    block = next(s for s in links.structures if s.sign == b"FHDB")
    name = links.data.index(b"soft_absolute", block.at) - block.at
    renamed = changed(links, b"FHDB", name, b"soft_abbolute")
    with pytest.raises(CorruptFile, match="not found by its own hash"):
        scan_bytes(SCANNER, renamed)


def test_nothing_behind_the_recorded_end_counts(sound: dict[str, Original]) -> None:
    """The end of the file in superblocks of versions 2 and 3, and an address of the file's own beginning."""
    dense = sound["dense"]
    with pytest.raises(CorruptFile, match="outside of the file"):
        scan_bytes(SCANNER, changed(dense, b"\x89HDF", 28, (100).to_bytes(8, "little")))
    with pytest.raises(CorruptFile, match="truncated"):
        scan_bytes(SCANNER, changed(dense, b"\x89HDF", 12, b"\xff" * 8))
