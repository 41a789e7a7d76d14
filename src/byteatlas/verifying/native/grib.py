"""GRIB files as ecCodes has them: the key ``values``, NaN where the bitmap says that there is none."""

from __future__ import annotations

import itertools
import math
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import MissingExtra
from byteatlas.io.local import local_path
from byteatlas.io.source import Source
from byteatlas.io.sources.file_object import open_file
from byteatlas.values import dataclass
from byteatlas.verifying.native.contract import NativeArray, NativeFile

ABSENT = 9.96921e36
"""What ecCodes is told to give for points without a value."""
OFFSET = "off/"


@dataclass(frozen=True, slots=True, eq=False)
class GribArray:
    """Fields by their places in the file, one for each combination of the leading dimensions; None: there is none."""

    file: BinaryIO
    places: tuple[tuple[int, int] | None, ...]
    given: tuple[int, ...] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.given if self.given is not None else (len(self.places), self._field(self._first()).size)

    @property
    def attributes(self) -> None:
        return None

    @property
    def dims(self) -> None:
        return None

    def shaped(self, shape: tuple[int, ...]) -> NativeArray:
        """The same in the shape of our array, if it has as many values."""
        whole = math.prod(shape) == len(self.places) * self._field(self._first()).size
        return GribArray(self.file, self.places, shape) if whole else self

    def read(self, selection: tuple[slice, ...]) -> NDArray[Any]:
        shape, axes, total = self.shape, 0, 1
        while total < len(self.places):
            total *= shape[axes]
            axes += 1
        while axes < len(shape) and shape[axes] == 1 and math.prod(shape[axes:]) > self._field(self._first()).size:
            axes += 1
        slices = [*selection, *[slice(None)] * (len(shape) - len(selection))]
        rows = [range(*part.indices(n)) for part, n in zip(slices[:axes], shape[:axes], strict=True)]
        inside = tuple(slices[axes:])
        parts = [self._at(where, shape, axes)[inside] for where in itertools.product(*rows)]
        return np.stack(parts).reshape(*[len(r) for r in rows], *parts[0].shape)

    def _at(self, where: tuple[int, ...], shape: tuple[int, ...], axes: int) -> NDArray[np.float64]:
        number = int(np.ravel_multi_index(where, shape[:axes])) if where else 0
        place = self.places[number]
        inner = shape[axes:]
        return np.full(inner, np.nan) if place is None else self._field(place).reshape(inner)

    def _first(self) -> tuple[int, int]:
        return next(place for place in self.places if place is not None)

    def _field(self, place: tuple[int, int]) -> NDArray[np.float64]:
        """One field. Where a message has several, ecCodes gives one after the other."""
        import eccodes

        offset, number = place
        eccodes.codes_grib_multi_support_reset_file(self.file)
        eccodes.codes_grib_multi_support_on()
        try:
            self.file.seek(offset)
            for _ in range(number):
                eccodes.codes_release(eccodes.codes_grib_new_from_file(self.file))
            handle = eccodes.codes_grib_new_from_file(self.file)
            if handle is None:
                raise ValueError(f"ecCodes finds no message at byte {offset}")
            try:
                eccodes.codes_set(handle, "missingValue", ABSENT)
                values = np.array(eccodes.codes_get_values(handle), np.float64)
                if eccodes.codes_get(handle, "bitmapPresent", int) or (values == ABSENT).any():
                    values[values == ABSENT] = np.nan
                return values
            finally:
                eccodes.codes_release(handle)
        except eccodes.CodesInternalError as error:
            raise ValueError(f"ecCodes: {error}") from error
        finally:
            eccodes.codes_grib_multi_support_off()


@dataclass(frozen=True, slots=True, eq=False)
class GribFile:
    file: BinaryIO

    def array(self, path: str, locators: tuple[str, ...]) -> NativeArray | None:
        if not locators or not all(place.startswith(OFFSET) for place in locators if place):
            return None
        return GribArray(self.file, tuple(_place(locator) for locator in locators))

    def names(self) -> list[str]:
        return []


def _place(locator: str) -> tuple[int, int] | None:
    """Offset and number of the field: ``off/123``, ``off/123#1``."""
    if not locator:
        return None
    offset, _, number = locator.removeprefix(OFFSET).partition("#")
    return int(offset), int(number or 0)


@contextmanager
def open_grib(source: Source) -> Iterator[NativeFile]:
    if find_spec("eccodes") is None:
        raise MissingExtra("verify", "verifying GRIB files")
    path = local_path(source.url)
    if path is not None:
        with Path(path).open("rb") as file:
            yield GribFile(file)
        return
    with TemporaryDirectory() as folder:  # the library reads from files only
        with open_file(source, 8 << 20) as remote, (Path(folder) / "copy").open("wb") as copy:
            shutil.copyfileobj(remote, copy)
        with (Path(folder) / "copy").open("rb") as file:
            yield GribFile(file)
