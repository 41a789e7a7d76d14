"""Pyhdf's answers for damaged HDF4 files, from a forked child: the library crashes on many of them."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import byteatlas as ba
from byteatlas.io.open import open_source
from byteatlas.verifying.compare import first_difference
from byteatlas.verifying.native.hdf4 import SdsArray, open_hdf4

SECONDS = 10


def differs_from_pyhdf(file: Path, found: Mapping[str, np.ndarray[Any, Any]]) -> str | None:
    """The first array that pyhdf reads with other values or under another name; None where it does not answer."""
    places = {item.path: item.locators for item in ba.scan(str(file), on_refusal="ignore").report}
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(SECONDS)
        with os.fdopen(write_end, "w") as out:
            try:
                out.write(_difference(file, found, places))
            except Exception:  # it is not pyhdf that is tested: whatever it raises, it does not answer
                out.write("")
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as said:
        wrong = said.read()
    os.waitpid(child, 0)
    return wrong or None


def _difference(file: Path, found: Mapping[str, np.ndarray[Any, Any]], places: Mapping[str, tuple[str, ...]]) -> str:
    with open_hdf4(open_source(str(file))) as native:
        first = native.array("", ("sds/0",))
        older = any(path.startswith(("fakeDim", "Data-Set-")) for path in places)
        if isinstance(first, SdsArray) and first.dataset.info()[0] == "fakeDim0" and not older:
            return ""  # the Vgroups are damaged: the library takes the file for an older one, with other numbers
        for path, values in found.items():
            array = native.array(path, places[path])
            if array is None:
                continue
            try:
                expected = array.read(())
            except Exception:  # this array only
                continue
            if isinstance(array, SdsArray) and not _same_name(array.dataset.info()[0], path):
                return f"{path} is {array.dataset.info()[0]}"
            if first_difference(_without_nuls(values), _without_nuls(expected)) is not None:
                return f"{path} ({places[path][0]})"
    return ""


def _same_name(theirs: str, path: str) -> bool:
    """Slashes of names are no slashes of paths, and a number stands behind a name that was taken."""
    return path.rpartition("/")[2].startswith((theirs.replace("/", "_") or "_").encode("utf-8", "replace").decode())


def _without_nuls(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Pyhdf drops NULs from the text of tables, wherever they are."""
    if values.dtype.names:
        out = values.copy()
        for name in values.dtype.names:
            out[name] = _without_nuls(values[name])
        return out
    if values.dtype.kind != "S" or values.dtype.itemsize == 1:
        return values
    return np.array([text.replace(b"\0", b"") for text in values.ravel()], values.dtype).reshape(values.shape)
