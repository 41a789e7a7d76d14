"""Whole files in which one thing is wrong: what the report says of it, and that the rest of the file is there."""

from __future__ import annotations

import struct
from pathlib import Path

import h5py
import numpy as np
import pytest
from tests.scanning import refuses, scan_bytes

from byteatlas.checksums import lookup3
from byteatlas.errors import CorruptFile
from byteatlas_scanners.hdf5 import SCANNER, linked_files, tree, walk


def report(data: bytes) -> dict[str, tuple[str | None, str]]:
    return {item.path: (item.reason, item.detail) for item in scan_bytes(SCANNER, data).report}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("refused")


def written(folder: Path, name: str = "file.h5", libver: str = "latest") -> h5py.File:
    return h5py.File(folder / name, "w", libver=libver)


def moved_root(data: bytes, root: int) -> bytes:
    """A file of a new version with another root, and the checksum that goes with it."""
    head = data[:36] + struct.pack("<Q", root)
    return head + lookup3(head).to_bytes(4, "little") + data[48:]


def test_a_root_that_is_no_group(folder: Path) -> None:
    with written(folder) as file:
        file["d"] = np.arange(3)
        address = h5py.h5o.get_info(file["d"].id).addr
    data = moved_root((folder / "file.h5").read_bytes(), address)
    refuses(CorruptFile(address, "the root is not a group"), lambda: scan_bytes(SCANNER, data))


def test_a_root_that_is_damaged(folder: Path) -> None:
    with written(folder) as file:
        file["d"] = np.arange(3)
    data = moved_root((folder / "file.h5").read_bytes(), 8)
    refuses(CorruptFile(8, "no object header"), lambda: scan_bytes(SCANNER, data))


def test_the_number_of_objects_is_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with written(folder) as file:
        file["a/x"], file["b/y"] = 1, 2
        second = h5py.h5o.get_info(file["b"].id).addr
    data = (folder / "file.h5").read_bytes()
    monkeypatch.setattr(walk, "MOST_OBJECTS", 4)
    found = report(data)
    assert found["a/x"] == (None, "")
    assert found["b"][0] == "corrupt"
    assert found["b"][1].endswith("too many objects")
    assert second
    monkeypatch.setattr(walk, "MOST_OBJECTS", 5)
    assert {reason for reason, _ in report(data).values()} == {None}


def test_a_virtual_dataset_of_itself(folder: Path) -> None:
    with written(folder) as file:
        layout = h5py.VirtualLayout((4,), "i4")
        layout[:] = h5py.VirtualSource(".", "v", (4,))
        file.create_virtual_dataset("v", layout)
    why = "a virtual dataset of array elements, or made of itself"
    assert report((folder / "file.h5").read_bytes()) == {"v": ("virtual-dataset", why)}


def test_a_virtual_dataset_of_array_elements(folder: Path) -> None:
    with written(folder) as file:
        kind = np.dtype(("<i4", (2,)))
        file.create_dataset("d", (4,), h5py.h5t.py_create(kind))
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        space = h5py.h5s.create_simple((4,))
        plist.set_virtual(space, b".", b"d", space)
        h5py.h5d.create(file.id, b"v", h5py.h5t.py_create(kind), space, plist)
    why = "a virtual dataset of array elements, or made of itself"
    assert report((folder / "file.h5").read_bytes())["v"] == ("virtual-dataset", why)


def test_a_damaged_list_of_mappings(folder: Path) -> None:
    with written(folder) as file:
        layout = h5py.VirtualLayout((4,), "i4")
        layout[:] = h5py.VirtualSource("other.h5", "d", (4,))
        file.create_virtual_dataset("v", layout)
        file["sound"] = 1
    data = (folder / "file.h5").read_bytes()
    changed = data.replace(b"other.h5\0", b"Other.h5\0")
    assert changed != data
    assert report(changed) == {
        "v": ("corrupt", "byte 0: wrong checksum of a list of virtual mappings"),
        "sound": (None, ""),
    }


def test_the_number_of_files_is_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with written(folder) as file:
        file["l"] = h5py.ExternalLink("other.h5", "/d")
        layout = h5py.VirtualLayout((4,), "i4")
        layout[:] = h5py.VirtualSource(".", "l", (4,))
        file.create_virtual_dataset("v", layout)
    data = (folder / "file.h5").read_bytes()
    assert {reason for reason, _ in report(data).values()} == {"forbidden"}
    monkeypatch.setattr(linked_files, "MOST_FILES", 1)
    why = "more than 1 files, 'other.h5' is one too many"
    assert report(data) == {"l": ("too-large", why), "v": ("too-large", why)}


def test_links_to_what_is_not_there(folder: Path) -> None:
    with written(folder) as file:
        file["d"] = 1
        file["nowhere"] = h5py.SoftLink("/absent")
        file["through"] = h5py.SoftLink("/d/x")
        file["circle"] = h5py.SoftLink("/circle")
        file["sound"] = h5py.SoftLink("d")
    found = report((folder / "file.h5").read_bytes())
    assert found == {
        "d": (None, ""), "sound": (None, ""), "nowhere": ("link", "'/absent' leads nowhere"),
        "through": ("link", "a path leads through something that is not a group"),
        "circle": ("link", "link 'circle' leads in a circle, or over more than 16"),
    }  # fmt: skip


def test_groups_under_several_paths_are_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with written(folder) as file:
        file["a/x/y"] = 1
        file["b"] = file["a"]
    data = (folder / "file.h5").read_bytes()
    assert set(report(data)) == {"a/x/y", "b/x/y"}
    monkeypatch.setattr(tree, "MOST_REPEATED", 0)
    assert report(data)["b/x"] == ("link", "too many groups inside of one another, or under several paths")
    monkeypatch.undo()
    monkeypatch.setattr(tree, "MOST_DEPTH", 1)
    assert report(data)["a/x"] == ("link", "too many groups inside of one another, or under several paths")


def test_a_single_chunk_behind_the_end(folder: Path) -> None:
    """Behind a user block its address may even wrap around to a place in the file."""
    with h5py.File(folder / "block.h5", "w", libver="latest", userblock_size=512) as file:
        file.create_dataset("d", data=np.arange(4, dtype="<i4"), chunks=(4,))
        file["sound"] = 1
        place = file["d"].id.get_chunk_info(0).byte_offset - 512
    data = (folder / "block.h5").read_bytes()
    header = data.rindex(b"OHDR", 0, data.index(struct.pack("<Q", place)))
    flags = data[header + 5]
    prefix = 6 + (16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0)
    width = 1 << (flags & 3)
    size = prefix + width + int.from_bytes(data[header + prefix : header + prefix + width], "little")
    body = data[header : header + size].replace(struct.pack("<Q", place), struct.pack("<Q", 2**64 - 2))
    changed = data[:header] + body + lookup3(body).to_bytes(4, "little") + data[header + size + 4 :]
    found = report(changed)
    assert found == {"d": ("corrupt", f"byte {512 + 2**64 - 2}: a chunk lies outside of the file"), "sound": (None, "")}
