"""The formats' own libraries, behind one small face: names, shapes, values, attributes, dimensions."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import MissingExtra
from byteatlas.io.local import local_path
from byteatlas.io.source import Source
from byteatlas.types import JSON
from byteatlas.values import dataclass

HIDDEN = frozenset(
    {
        "CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS", "_Netcdf4Dimid",
        "_Netcdf4Coordinates", "_nc3_strict", "_NCProperties",
    }
)  # fmt: skip
"""Attributes that the HDF5 and netCDF libraries use for their own bookkeeping."""
STREAMING = 2**32 - 1
NATIVE_ERRORS = (OSError, KeyError, RuntimeError, TypeError, ValueError, IndexError)
"""What the libraries raise for files that they cannot read."""
NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable"


class NativeArray(Protocol):
    """One array as the format's library has it."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def attributes(self) -> Mapping[str, JSON] | None:
        """None when the format has none that could be compared."""
        ...

    @property
    def dims(self) -> tuple[str | None, ...] | None: ...

    def read(self, selection: tuple[slice, ...]) -> NDArray[Any]: ...


class NativeFile(Protocol):
    """One open file."""

    def array(self, path: str, locators: tuple[str, ...]) -> NativeArray | None:
        """The array behind a path of the virtual hierarchy, or None."""
        ...

    def names(self) -> list[str]:
        """Paths of all arrays that a scan must present or refuse; empty when paths do not tell."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Hdf5Array:
    dataset: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """The elements' own axes (array datatypes) come last."""
        return (*(self.dataset.shape or ()), *self.dataset.dtype.shape)

    @property
    def attributes(self) -> Mapping[str, JSON]:
        return hdf5_attributes(self.dataset)

    @property
    def dims(self) -> tuple[str | None, ...] | None:
        import h5py

        if h5py.h5ds.is_scale(self.dataset.id):
            return (self.dataset.name.rpartition("/")[2],) if len(self.shape) == 1 else None
        scales = [dim[0].name.rpartition("/")[2] if len(dim) else None for dim in self.dataset.dims]
        return tuple(scales) if any(scales) else None

    def read(self, selection: tuple[slice, ...]) -> NDArray[Any]:
        outer = len(self.dataset.shape or ())
        values = np.asarray(self.dataset[selection[:outer]] if selection else self.dataset[()])
        if selection[outer:]:
            values = values[(slice(None),) * outer + selection[outer:]]
        return self._names(values) if _is_reference(self.dataset.dtype) else values

    def _names(self, references: NDArray[Any]) -> NDArray[Any]:
        """References as the paths of what they refer to."""
        out = np.empty(references.shape, object)
        out.reshape(-1)[:] = [self.dataset.file[r].name if r else "" for r in references.reshape(-1).tolist()]
        return out


@dataclass(frozen=True, slots=True, eq=False)
class Hdf5File:
    file: Any

    def array(self, path: str, locators: tuple[str, ...]) -> NativeArray | None:
        import h5py

        try:
            found = self.file[path]
        except NATIVE_ERRORS:
            return None
        return Hdf5Array(found) if isinstance(found, h5py.Dataset) else None

    def names(self) -> list[str]:
        import h5py

        found: list[str] = []

        def visit(name: str, node: Any) -> None:
            if isinstance(node, h5py.Dataset):
                label = node.attrs.get("NAME") if "NAME" in node.attrs else b""
                if not (isinstance(label, bytes) and label.decode("latin-1").startswith(NO_VARIABLE)):
                    found.append(name)

        with suppress(*NATIVE_ERRORS):  # it stops at the first object that it cannot open
            self.file.visititems(visit)
        return found


def _is_reference(dtype: np.dtype[Any]) -> bool:
    import h5py

    return h5py.check_ref_dtype(dtype) is not None


def hdf5_attributes(node: Any) -> dict[str, JSON]:
    """Attributes of an h5py object as JSON; those that h5py itself cannot read are left out."""
    out: dict[str, JSON] = {}
    for name in node.attrs:
        if name in HIDDEN:
            continue
        try:
            value = node.attrs[name]
        except NATIVE_ERRORS:
            continue
        plain = as_json(value)
        if plain is not NotImplemented:
            out[name] = plain
    return out


def as_json(value: Any) -> JSON:
    """A library's attribute value as JSON would have it; NotImplemented for what JSON has no plain form of."""
    if isinstance(value, bytes):
        return value.rstrip(b"\0").decode("utf-8", "surrogateescape")
    if isinstance(value, (np.bool_, np.integer, np.floating, np.bytes_)):
        return as_json(value.item())
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufSUO":
        parts = [as_json(v) for v in value.tolist()] if value.ndim else as_json(value.item())
        return NotImplemented if isinstance(parts, list) and NotImplemented in parts else parts
    if isinstance(value, list):
        parts = [as_json(v) for v in value]
        return NotImplemented if NotImplemented in parts else parts
    return value if isinstance(value, (bool, int, float, str)) else NotImplemented


@dataclass(frozen=True, slots=True, eq=False)
class NetcdfArray:
    variable: Any

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.variable.shape)

    @property
    def attributes(self) -> Mapping[str, JSON]:
        found = {name: as_json(self.variable.getncattr(name)) for name in self.variable.ncattrs()}
        return {name: value for name, value in found.items() if value is not NotImplemented}

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


YCBCR, OLD_JPEG = 6, 6
BYTES = frozenset({1, 5, 8, 32773, 32946})
"""Compressions of bytes: subsampled colours are still to be spread after them."""


def _pixels(page: Any) -> NDArray[Any]:
    """A page's values by tifffile; by libtiff where its way counts (see `codecs.tiff_libtiff`)."""
    spread = page.compression == OLD_JPEG or (page.compression in BYTES and page.is_subsampled)
    if page.photometric == YCBCR and spread and isinstance(page.index, int):
        import imagecodecs

        handle = page.parent.filehandle
        handle.seek(0)
        try:
            return np.asarray(imagecodecs.tiff_decode(handle.read(), index=page.index))
        except RuntimeError:
            pass  # libtiff does not take it
    return np.asarray(page.asarray())


@dataclass(frozen=True, slots=True, eq=False)
class TiffArray:
    """One page, or several stacked along a leading axis."""

    pages: tuple[Any, ...]
    stacked: bool

    @property
    def shape(self) -> tuple[int, ...]:
        inner = tuple(self.pages[0].shape)
        return (len(self.pages), *inner) if self.stacked else inner

    @property
    def attributes(self) -> None:
        return None

    @property
    def dims(self) -> None:
        return None

    def read(self, selection: tuple[slice, ...]) -> NDArray[Any]:
        if not self.stacked:
            return np.asarray(_pixels(self.pages[0])[selection])
        return np.stack([_pixels(page)[selection[1:]] for page in self.pages[selection[0]]])


@dataclass(frozen=True, slots=True, eq=False)
class Tiff:
    file: Any

    def array(self, path: str, locators: tuple[str, ...]) -> NativeArray | None:
        pages = [self._page(locator) for locator in locators]
        found = tuple(page for page in pages if page is not None)
        return TiffArray(found, len(found) > 1) if found and len(found) == len(pages) else None

    def names(self) -> list[str]:
        return []

    def _page(self, locator: str) -> Any:
        """``page/3`` or ``page/3/sub/1``."""
        words = locator.split("/")
        if len(words) not in (2, 4) or words[0] != "page":
            return None
        page = self.file.pages[int(words[1])]
        if len(words) == 2:
            return page
        return page.pages[int(words[3])] if page.pages is not None else None


@contextmanager
def open_hdf5(source: Source) -> Iterator[NativeFile]:
    try:
        import h5py
        import hdf5plugin  # noqa: F401  (registers filters)
    except ImportError as error:
        raise MissingExtra("verify", "verifying HDF5 files") from error
    with h5py.File(_place(source), "r") as file:
        yield Hdf5File(file)


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


@contextmanager
def open_tiff(source: Source) -> Iterator[NativeFile]:
    try:
        import tifffile
    except ImportError as error:
        raise MissingExtra("verify", "verifying TIFF files") from error
    with tifffile.TiffFile(_place(source)) as file:
        yield Tiff(file)


def _place(source: Source) -> Any:
    """What a library opens: the path of a local file, else the bytes of the whole file."""
    path = local_path(source.url)
    return path if path is not None else io.BytesIO(bytes(source.read_all()))


READERS: Mapping[str, Callable[[Source], Any]] = {
    "hdf5": open_hdf5,
    "netcdf3": open_netcdf3,
    "tiff": open_tiff,
}
"""By scanner name: a context manager that gives the open file."""
