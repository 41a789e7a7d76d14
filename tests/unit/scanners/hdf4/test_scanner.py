"""HDF4: groups, names, attributes, unwritten data, tables, images, damage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixtures.hdf4.make_hdf4 import everything, images, numbers, old_file, small, tables
from fixtures.hdf4.raw_hdf4 import NT, SD, VG, Storage, Writer
from tests.scanning import scan_bytes

import byteatlas as ba
from byteatlas.errors import CorruptFile
from byteatlas.scanning.contract import FirstBytes
from byteatlas_scanners.hdf4 import SCANNER


def opened(path: Path) -> Any:
    return ba.open(ba.scan(path, on_refusal="ignore"))


def refusals(data: bytes) -> dict[str, str | None]:
    return {item.path: item.reason for item in scan_bytes(SCANNER, data).report if item.status == "refused"}


def test_attributes_are_typed(tmp_path: Path) -> None:
    root = opened(everything(tmp_path)[0])
    assert root.attrs == {"title": "all", "bad": "km²", "list": [1, 2]}
    assert root["plain f4"].attrs == {"units": "K", "range": [1.5, 2.5], "flag": -3}
    assert root["plain f4"].dims == ("r", "c")


def test_unwritten_data_read_as_the_fill_value(tmp_path: Path) -> None:
    path, _ = everything(tmp_path)
    root = opened(path)
    assert root["never"][0, 0] == np.float32(9.96921e36)
    assert (root["never filled"][...] == 5).all()
    assert (root["gaps"][:3, 4:8] == -7).all()
    assert root["unlimited"].shape == (7, 11)
    group = ba.scan(path, on_refusal="ignore")
    assert [(i.path, i.reason) for i in group.report if i.status == "refused"] == [("c", "never-written")]
    assert root["c"].attrs == {"units": "s"}


def test_external_files_that_are_not_there(tmp_path: Path) -> None:
    path, _ = everything(tmp_path)
    (tmp_path / "f4.raw").unlink()
    (tmp_path / "i2.raw").write_bytes(b"x")
    found = {i.path: i.reason for i in ba.scan(path, on_refusal="ignore").report if i.status == "refused"}
    assert found == {"c": "never-written", "external f4": "external-storage", "external i2": "corrupt"}


def test_old_files(tmp_path: Path) -> None:
    root = opened(old_file(tmp_path))
    data = next(node for path, node in root.walk() if path.startswith("Data-Set") and node.attrs)
    assert data.attrs["long_name"] == "what"
    assert (data.attrs["valid_max"], data.attrs["scale_factor"], data.attrs["coordsys"]) == (9.0, 2.0, "polar")
    assert root["fakeDim0"][...].tolist() == [1, 2, 4]
    assert root["fakeDim0"].attrs == {"long_name": "rows", "units": "m"}


def test_tables(tmp_path: Path) -> None:
    root = opened(tables(tmp_path))
    found = root["table"][...]
    assert (found["n"].tolist(), found["text"].tolist()) == ([0, 1, 2, 3, 4], [b"abc"] * 5)
    assert found["v"].tolist() == [[i / 2, 0.0] for i in range(5)]
    assert root["table"].attrs == {"units": "m", "v": {"units": "m"}}
    assert root["by field/v"][...].tolist() == [[i / 2, 0.0] for i in range(4)]
    assert root["by field/text"][...].tolist() == [b"abc"] * 4
    assert root["empty"].shape == (0,)
    assert root["linked"][...].tolist() == list(range(40))
    (unnamed,) = [node for path, node in root.walk() if path.startswith("vdata_")]
    assert unnamed.shape == (10, 4)


def test_images(tmp_path: Path) -> None:
    found = ba.scan(images(tmp_path))
    root: Any = ba.open(found)
    picture = (np.arange(60).reshape(6, 10) // 7).astype("u1")
    by_locator = {item.locators[0]: item.path for item in found.report}
    np.testing.assert_array_equal(root["temperature"][...], picture)
    assert root["temperature"].attrs == {"units": "K"}
    colours = [root[f"Raster Image #{i}"] for i in range(3)]
    assert [c.dims for c in colours] == [("y", "x", "band"), ("y", "band", "x"), ("band", "y", "x")]
    for image in colours:
        np.testing.assert_array_equal(
            image[...].transpose([image.dims.index(d) for d in "yx"] + [image.dims.index("band")])[..., 2], picture + 2
        )
    old = [by_locator[f"gr/{i}"] for i in (4, 5)]
    for path in old:
        np.testing.assert_array_equal(root[path][...], picture)
        assert root[f"{path}_palette"].shape == (256, 3)


def test_groups_and_names() -> None:
    writer = Writer()
    first = writer.sds("a/b", numbers("i2"), ["r", "c"])
    second = writer.sds("same", numbers("i2"), ["r", "c"])
    third = writer.sds("same", numbers("i4"), ["r", "c"])
    note = writer.attribute("note", "hello")[1]
    inner = writer.vgroup("inner", "", [second])
    outer = writer.vgroup("outer", "", [(VG, inner), first, (VG, 900)], [note])
    writer.vgroup("circle", "", [(VG, writer.refs + 1)])
    group: Any = scan_bytes(SCANNER, writer.finish())
    assert {path for path, _ in group.walk()} >= {"outer", "outer/a_b", "outer/inner/same", "same", "circle"}
    assert group["outer"].attributes == {"note": "hello"}
    assert [i.detail for i in group.report if i.path == "outer/a_b"] == ["its name in the file is 'a/b'"]
    assert (outer, third[1]) != (0, 0)


def test_number_types_of_other_machines_are_refused() -> None:
    writer = Writer()
    writer.sds("vax", numbers("f4"), ["r", "c"])
    writer.elements = [(t, r, b"\1\5\x20\2" if t == NT else d) for t, r, d in writer.elements]
    assert refusals(writer.finish()) == {"vax": "datatype"}


def test_unknown_compression_is_refused() -> None:
    writer = Writer()
    writer.sds("jpeg", numbers("u1"), ["r", "c"], Storage(coder=7))
    assert refusals(writer.finish()) == {"jpeg": "compression"}


def test_data_that_are_too_short_are_refused() -> None:
    writer = Writer()
    writer.sds("short", numbers("f4"), ["r", "c"])
    writer.elements = [(t, r, d[:-1] if t == SD and d else d) for t, r, d in writer.elements]
    assert refusals(writer.finish()) == {"short": "corrupt"}


@pytest.mark.parametrize(
    "data", [b"\x0e\x03\x13\x01", b"\x0e\x03\x13\x01\xff\xff\0\0\0\0", b"\x0e\x03\x13\x01\0\0\0\0\0\4"]
)
def test_unreadable_directories(data: bytes) -> None:
    with pytest.raises(CorruptFile):
        scan_bytes(SCANNER, data)


def test_maps_keep_it_all(tmp_path: Path) -> None:
    path = small(tmp_path)
    ba.write(ba.scan(path, options=ba.ScanOptions(inline_below=1 << 16)), tmp_path / "m.json")
    again: Any = ba.open(tmp_path / "m.json")
    root = opened(path)
    names = [p for p, node in root.walk() if isinstance(node, ba.Array)]
    assert len(names) == 5
    for name in names:
        np.testing.assert_array_equal(again[name][...], root[name][...])


def test_sniff() -> None:
    assert SCANNER.sniff(FirstBytes(b"\x0e\x03\x13\x01\0\0"))
    assert not SCANNER.sniff(FirstBytes(b"\x89HDF\r\n\x1a\n"))
