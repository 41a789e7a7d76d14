"""FITS files as astropy has them: images without scaling, columns as they are stored."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import MissingExtra
from byteatlas.io.source import Source
from byteatlas.values import dataclass
from byteatlas.verifying.native.contract import NativeArray, NativeFile
from byteatlas.verifying.native.place import path_or_file

DATA = "data"


@dataclass(frozen=True, slots=True, eq=False)
class FitsArray:
    """One image, or one column."""

    values: NDArray[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.values.shape)

    @property
    def attributes(self) -> None:
        return None

    @property
    def dims(self) -> None:
        return None

    def read(self, selection: tuple[slice, ...]) -> NDArray[Any]:
        return np.asarray(self.values[selection] if selection else self.values)


@dataclass(frozen=True, slots=True, eq=False)
class FitsFile:
    """The same file opened twice: numbers as they are stored, and unsigned integers as such."""

    stored: Any
    scaled: Any

    def array(self, path: str, locators: tuple[str, ...]) -> NativeArray | None:
        words = locators[0].split("/", 2) if len(locators) == 1 else []
        if len(words) not in (2, 3) or words[0] != "hdu" or not int(words[1]) < len(self.stored):
            return None
        number = int(words[1])
        found = self._image(number) if len(words) == 2 else self._column(number, words[2])
        return None if found is None else FitsArray(found)

    def names(self) -> list[str]:
        return []

    def _image(self, number: int) -> NDArray[Any] | None:
        found: NDArray[Any] | None = self.scaled[number].data
        if found is None or found.dtype.kind not in "iu":
            found = self.stored[number].data
        return found

    def _column(self, number: int, label: str) -> NDArray[Any] | None:
        unit = self.stored[number]
        if type(unit).__name__ == "GroupsHDU":
            return _of_groups(unit, label)
        names = list(unit.columns.names)
        if names.count(label) != 1 or None in names or unit.data is None:
            return None  # astropy has no table of columns without names
        at = names.index(label)
        column = unit.columns[at]
        raw: NDArray[Any] = np.asarray(unit.data).view(unit.data.dtype)[column.name]
        if type(unit).__name__ == "TableHDU" and column.format[:1] != "A":
            plain = column.bscale in ("", None, 1) and column.bzero in ("", None, 0)
            implied = column.format[:1] in "FED" and _without_point(raw)
            return np.asarray(unit.data.field(at)) if plain and not implied else None
        if "P" in column.format or "Q" in column.format:
            return _of_heap(unit.data.field(at))
        wide = column.format.strip("0123456789")[:1] == "K" and column.bzero == 1 << 63
        return np.asarray(self.scaled[number].data.field(at)) if wide else raw


def _without_point(cells: NDArray[Any]) -> bool:
    """Whether there are numbers with an implied decimal point (section 7.2.5), which astropy reads without it."""
    return bool(((np.char.find(cells, b".") < 0) & (np.char.strip(cells) != b"")).any())


def _of_groups(unit: Any, label: str) -> NDArray[Any] | None:
    """A parameter of random groups by its PTYPE, or their arrays."""
    raw = np.asarray(unit.data).view(unit.data.dtype)
    names = raw.dtype.names or ()
    labels = [str(unit.header.get(f"PTYPE{i + 1}", f"parameter_{i + 1}")) for i in range(len(names) - 1)]
    labels.append(DATA)
    return raw[names[labels.index(label)]] if labels.count(label) == 1 else None


def _of_heap(rows: Any) -> NDArray[Any]:
    """Arrays of different lengths; text as bytes."""
    out = np.empty(len(rows), object)
    for i, row in enumerate(rows):
        values = np.asarray(row)
        text = values.dtype.kind in "SU"
        out[i] = b"".join(np.char.encode(values, "latin-1").tolist()) if text else values
    return out


@contextmanager
def open_fits(source: Source) -> Iterator[NativeFile]:
    try:
        from astropy.io import fits
    except ImportError as error:
        raise MissingExtra("verify", "verifying FITS files") from error
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        place = stack.enter_context(path_or_file(source))
        options = {"memmap": False, "character_as_bytes": True}
        stored = stack.enter_context(fits.open(place, do_not_scale_image_data=True, **options))
        again = stack.enter_context(path_or_file(source))
        yield FitsFile(stored, stack.enter_context(fits.open(again, **options)))
