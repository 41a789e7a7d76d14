"""The status page of HDF5 says what the tables in the code say."""

from __future__ import annotations

from tests.places import ROOT, load_program

from byteatlas.meta.model import CodecSpec
from byteatlas_scanners.hdf5.filters.message import Filter
from byteatlas_scanners.hdf5.filters.registry import OWN, ROWS, Row
from byteatlas_scanners.hdf5.format.types import Bits, Datatype, DatatypeClass

FOLDER = ROOT / "docs" / "status"


def test_the_page_is_up_to_date() -> None:
    assert (FOLDER / "hdf5.md").read_text() == load_program(FOLDER / "make_hdf5.py").render()


VALUES = {
    1: (4,), 2: (4,), 4: (169, 8, 32, 16), 5: (8, 0, 16, 1, 4, 0, 20, 7), 6: (2, 0, 16, 0, 4, 1, 0, 0),
    32001: (2, 2, 4, 64, 5, 1, 1), 32008: (0, 4, 4, 0, 2), 32013: (1, 91252346, 15986, 32505856), 32019: (75, 8, 2, 0),
}  # fmt: skip


def _codecs(row: Row) -> list[CodecSpec]:
    assert row.codecs is not None
    size = 1 if row.id in (32018, 32019) else 4
    kind = Datatype(DatatypeClass.INTEGER, size, bits=Bits("<", 0, 8 * size, False))
    return list(row.codecs(Filter(row.id, row.name, 0, VALUES.get(row.id, ())), kind, (16,)))


def test_rows_name_the_codec_that_is_written() -> None:
    for row in ROWS:
        if row.codecs is not None:
            names = [spec.name for spec in _codecs(row)]
            assert all(f"`{name}`" in row.written for name in names), row
            assert (row.decoder == OWN) == row.written.startswith("`byteatlas.")
