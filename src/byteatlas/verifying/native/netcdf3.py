"""netCDF-3 files as netCDF4-python has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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

STREAMING = 2**32 - 1


@dataclass(frozen=True, slots=True, eq=False)
class NetcdfArray:
    variable: Any

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.variable.shape)

    @property
    def attributes(self) -> Mapping[str, JSON]:
        found = {name: as_json(self._attribute(name)) for name in self.variable.ncattrs()}
        return {name: value for name, value in found.items() if value is not NotImplemented}

    def _attribute(self, name: str) -> Any:
        """A value; text that is no UTF-8 byte by byte, where the library puts one sign for all that it cannot read."""
        value = self.variable.getncattr(name)
        return self.variable.getncattr(name, encoding="latin-1") if "\ufffd" in str(value) else value

    @property
    def dims(self) -> tuple[str | None, ...]:
        return tuple(self.variable.dimensions)

    def read(self, selection: tuple[slice, ...]) -> NDArray[Any]:
        return np.asarray(self.variable[selection] if selection else self.variable[...])


@dataclass(frozen=True, slots=True, eq=False)
class NetcdfFile:
    file: Any

    def array(self, path: str, locators: tuple[str, ...]) -> NativeArray | None:
        found = self.file.variables.get(path.strip("/"))
        # The library takes the mark for "number of records not known" (streaming) for a number.
        return None if found is None or STREAMING in found.shape else NetcdfArray(found)

    def names(self) -> list[str]:
        return list(self.file.variables)


@contextmanager
def open_netcdf3(source: Source) -> Iterator[NativeFile]:
    try:
        import netCDF4
    except ImportError as error:
        raise MissingExtra("verify", "verifying netCDF-3 files") from error
    path = local_path(source.url)
    file = netCDF4.Dataset(path) if path else netCDF4.Dataset("memory", memory=bytes(source.read_all()))
    try:
        file.set_auto_maskandscale(False)
        file.set_auto_chartostring(False)
        yield NetcdfFile(file)
    finally:
        file.close()
