"""Read HDF5 files through the scanner and the codecs alone, and compare values with what h5py gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.chunks import read_chunks
from tests.scanning import scan_bytes

from byteatlas.codecs import build_pipeline
from byteatlas.manifest.model import VirtualArray, VirtualGroup
from byteatlas_scanners.hdf5 import SCANNER


def scan_file(path: Path) -> tuple[VirtualGroup, bytes]:
    """The scan of a file, and its bytes."""
    data = path.read_bytes()
    return scan_bytes(SCANNER, data), data


def read_array(array: VirtualArray, data: bytes) -> NDArray[Any]:
    """All values, chunk by chunk."""
    meta = array.meta
    return read_chunks(
        array, data, lambda how, shape, raw: build_pipeline(how, meta.data_type, shape, meta.fill_value).decode(raw)
    )


def plain(value: Any) -> Any:
    """A value as nested lists of Python objects; text as bytes; NaN as a word."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "mM":
        return plain(value.astype(value.dtype.newbyteorder("=")).view("i8"))
    if isinstance(value, np.void):
        return [plain(value[n]) for n in value.dtype.names] if value.dtype.names else value.tobytes()
    if isinstance(value, np.ndarray):
        return [plain(v) for v in value] if value.ndim else plain(value[()])
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return int(value.view("i8"))
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    if isinstance(value, float):
        return "nan" if value != value else value
    return value


def same(got: NDArray[Any], want: Any) -> bool:
    """Whether two values are equal in shape, in kind of type, and in every element."""
    want = np.asarray(want)
    if got.shape != want.shape:
        return False
    if not got.dtype.hasobject and not want.dtype.hasobject:
        native = want.dtype.newbyteorder("=")
        if want.dtype.names is None and got.dtype != native:
            return False
        if want.dtype.names is None and native.kind in "biufcS":
            return bool(np.array_equal(got, want.astype(native), equal_nan=native.kind in "fc"))
    return bool(plain(got) == plain(want))
