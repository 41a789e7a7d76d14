"""HDF5 and netCDF-4 files as h5py has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import MissingExtra
from byteatlas.io.source import Source
from byteatlas.meta.names import text_of
from byteatlas.types import JSON
from byteatlas.values import dataclass
from byteatlas.verifying.native.attributes import as_json
from byteatlas.verifying.native.contract import NATIVE_ERRORS, NativeArray, NativeFile
from byteatlas.verifying.native.place import path_or_file

HIDDEN = frozenset(
    {
        "CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS", "_Netcdf4Dimid",
        "_Netcdf4Coordinates", "_nc3_strict", "_NCProperties",
    }
)  # fmt: skip
"""Attributes that the HDF5 and netCDF libraries use for their own bookkeeping."""
NOT_COORDINATE = "_nc4_non_coord_"
NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable"


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
            return (_text(self.dataset.name).rpartition("/")[2],) if len(self.shape) == 1 else None
        scales = [_text(dim[0].name).rpartition("/")[2] if len(dim) else None for dim in self.dataset.dims]
        return tuple(scales) if any(scales) else None

    def read(self, selection: tuple[slice, ...]) -> NDArray[Any]:
        outer = len(self.dataset.shape or ())
        self._check_filters()
        values = np.asarray(self.dataset[selection[:outer]] if selection else self.dataset[()])
        if selection[outer:]:
            values = values[(slice(None),) * outer + selection[outer:]]
        return self._names(values) if _is_reference(self.dataset.dtype) else values

    def _check_filters(self) -> None:
        """Raise `MissingExtra` for a dataset with a filter that the library does not have."""
        import h5py

        plist = self.dataset.id.get_create_plist()
        numbers = [plist.get_filter(i)[0] for i in range(plist.get_nfilters())]
        lacking = [number for number in numbers if not h5py.h5z.filter_avail(number)]
        if lacking and not _register_filters():
            raise MissingExtra("verify", f"comparing {_text(self.dataset.name)} (HDF5 filter {lacking[0]})")

    def _names(self, references: NDArray[Any]) -> NDArray[Any]:
        """References as the paths of what they refer to."""
        out = np.empty(references.shape, object)
        out.reshape(-1)[:] = [_text(self.dataset.file[r].name) if r else "" for r in references.reshape(-1).tolist()]
        return out


@dataclass(frozen=True, slots=True, eq=False)
class Hdf5File:
    file: Any

    def array(self, path: str, locators: tuple[str, ...]) -> NativeArray | None:
        import h5py

        try:
            found = _member(self.file, locators[0] if locators else path)
        except NATIVE_ERRORS:
            return None
        return Hdf5Array(found) if isinstance(found, h5py.Dataset) else None

    def names(self) -> list[str]:
        import h5py

        found: list[str] = []

        def visit(name: str | bytes, node: Any) -> None:
            if isinstance(node, h5py.Dataset):
                label = node.attrs.get("NAME") if "NAME" in node.attrs else b""
                if not (isinstance(label, bytes) and label.decode("latin-1").startswith(NO_VARIABLE)):
                    found.append(_text(name))

        with suppress(*NATIVE_ERRORS):  # it stops at the first object that it cannot open
            self.file.visititems(visit)
        return [_shown(name, found) for name in found]


def _text(name: str | bytes) -> str:
    """A path as the scanner names it: h5py gives bytes for one that is not UTF-8."""
    if isinstance(name, str):
        return name
    return "/".join(text_of(part) for part in name.split(b"/"))


def _member(group: Any, path: str) -> Any:
    """The object at a path that `_text` gave. Raises what h5py raises."""
    if path.isascii() or path in group:
        return group[path]
    for name in path.strip("/").split("/"):
        group = group[name if name in group else name.encode("latin-1", "replace")]
    return group


def _shown(path: str, others: list[str]) -> str:
    """A dataset's path as netCDF shows it (netCDF-C, ``NON_COORD_PREPEND``)."""
    group, slash, name = path.rpartition("/")
    own = group + slash + name.removeprefix(NOT_COORDINATE)
    return path if name == NOT_COORDINATE or own in others else own


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
            out[_text(name)] = plain
    return out


def _register_filters() -> bool:
    """Give the library the filters of others, where they are installed; whether they are."""
    try:
        import hdf5plugin  # noqa: F401
    except ImportError:
        return False
    return True


@contextmanager
def open_hdf5(source: Source) -> Iterator[NativeFile]:
    try:
        import h5py
    except ImportError as error:
        raise MissingExtra("verify", "verifying HDF5 files") from error
    _register_filters()
    with path_or_file(source) as place, h5py.File(place, "r") as file:
        yield Hdf5File(file)
