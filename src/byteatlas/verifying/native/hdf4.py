"""HDF4 files as pyhdf has them: scientific datasets and Vdatas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import MissingExtra
from byteatlas.io.local import local_path
from byteatlas.io.source import Source
from byteatlas.types import JSON
from byteatlas.values import dataclass
from byteatlas.verifying.native.attributes import as_json
from byteatlas.verifying.native.contract import NativeArray, NativeFile


@dataclass(frozen=True, slots=True, eq=False)
class SdsArray:
    """One scientific dataset."""

    dataset: Any

    @property
    def shape(self) -> tuple[int, ...]:
        _, rank, sizes, _, _ = self.dataset.info()
        return tuple(sizes) if rank > 1 else (int(sizes),)

    @property
    def attributes(self) -> Mapping[str, JSON]:
        """Without those of unsigned characters, of which pyhdf gives the first one only."""
        every = self.dataset.attributes(full=1)
        found = {name: as_json(value) for name, (value, _, kind, _) in every.items() if kind != UCHAR8}
        return {name: _text(value) for name, value in found.items() if value is not NotImplemented}

    @property
    def dims(self) -> None:
        """Of HDF-EOS' files dimensions have other names here than in the file."""
        return None

    def read(self, selection: tuple[slice, ...]) -> NDArray[Any]:
        from pyhdf.error import HDF4Error

        try:
            values = np.asarray(self.dataset.get()) if 0 not in self.shape else np.empty(self.shape)
        except HDF4Error as error:
            raise OSError(str(error)) from error
        return np.asarray(values.reshape(self.shape)[selection])


def _text(value: JSON) -> JSON:
    return value.rstrip("\0") if isinstance(value, str) else value


@dataclass(frozen=True, slots=True, eq=False)
class VdataArray:
    """One table: its records as rows of the fields' values."""

    table: Any

    @property
    def shape(self) -> tuple[int, ...]:
        fields = self.table.fieldinfo()
        order = fields[0][2] if len(fields) == 1 and fields[0][1] != CHAR8 else 1
        return (self.table.inquire()[0], *((order,) if order > 1 else ()))

    @property
    def attributes(self) -> None:
        return None

    @property
    def dims(self) -> None:
        return None

    def read(self, selection: tuple[slice, ...]) -> NDArray[Any]:
        fields = self.table.fieldinfo()
        count = self.table.inquire()[0]
        rows = self._rows(count) if count else []
        columns = [_column(field, [row[i] for row in rows]) for i, field in enumerate(fields)]
        if len(fields) == 1:
            return np.asarray(columns[0][selection])
        kinds = [(field[0], column.dtype, column.shape[1:]) for field, column in zip(fields, columns, strict=True)]
        out = np.empty(count, kinds)
        for field, column in zip(fields, columns, strict=True):
            out[field[0]] = column
        return np.asarray(out[selection])

    def _rows(self, count: int) -> list[Any]:
        from pyhdf.error import HDF4Error

        try:
            self.table.seek(0)
            return list(self.table.read(count))
        except HDF4Error as error:
            raise OSError(str(error)) from error


UCHAR8, CHAR8 = 3, 4
KINDS = {3: "u1", 5: "f4", 6: "f8", 20: "i1", 21: "u1", 22: "i2", 23: "u2", 24: "i4", 25: "u4"}


def _column(field: Any, values: list[Any]) -> NDArray[Any]:
    """One field's values; text is one value however long."""
    _, kind, order = field[:3]
    if kind & 0xFFF == CHAR8:
        return np.array([_characters(value) for value in values], f"S{order}")
    found = np.array(values, KINDS[kind & 0xFFF])
    return found.reshape(len(values), order) if order > 1 else found


def _characters(value: Any) -> bytes:
    """The library gives text as text, a single character as its number."""
    if isinstance(value, str):
        return value.encode("latin-1")
    return bytes(v & 0xFF for v in np.atleast_1d(value).tolist())


@dataclass(frozen=True, slots=True, eq=False)
class Hdf4Native:
    """One open file."""

    datasets: Any
    tables: Any

    def array(self, path: str, locators: tuple[str, ...]) -> NativeArray | None:
        """By what the scan report says: ``sds/3``, ``vdata/7`` (a reference number). None where the library fails."""
        from pyhdf.error import HDF4Error

        try:
            return self._array(locators)
        except HDF4Error:
            return None

    def _array(self, locators: tuple[str, ...]) -> NativeArray | None:
        kind, _, number = (locators[0] if len(locators) == 1 else "").partition("/")
        if kind == "sds" and number.isdigit():
            return SdsArray(self.datasets.select(int(number)))
        if kind == "vdata" and number.isdigit():
            table = self.tables.attach(int(number))
            return VdataArray(table) if table.inquire()[1] == 0 else None
        return None

    def names(self) -> list[str]:
        return []


@contextmanager
def open_hdf4(source: Source) -> Iterator[NativeFile]:
    """The library opens files by name only: one that is not local is copied."""
    try:
        from pyhdf.error import HDF4Error
        from pyhdf.HDF import HDF
        from pyhdf.SD import SD
        from pyhdf.VS import VS  # noqa: F401  (gives HDF its `vstart`)
    except ImportError as error:
        raise MissingExtra("verify", "verifying HDF4 files") from error
    with NamedTemporaryFile(suffix=".hdf") as copy:
        path = local_path(source.url)
        if path is None:
            copy.write(source.read_all())
            copy.flush()
            path = copy.name
        try:
            file = HDF(path)
            datasets, tables = SD(path), file.vstart()
        except HDF4Error as error:
            raise OSError(str(error)) from error
        try:
            yield Hdf4Native(datasets, tables)
        finally:
            tables.end()
            file.close()
            datasets.end()
