"""What the fault matrix does with a server's files: each operation gives digests of all values that it led to."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from tests.fault_server import Faulty
from tests.faults.materials import digests
from tests.s3_servers import Bucket

import byteatlas as ba

Digests: TypeAlias = dict[str, str]


@dataclass
class Place:
    """Where the files are, and how they are reached."""

    name: str
    base: str
    server: Faulty | Bucket
    access: ba.Access
    kinds: tuple[str, ...]
    passing: frozenset[str]
    written: dict[str, bytes] | None = None
    """The objects, where they can be written to."""
    files: Mapping[str, bytes] = field(default_factory=dict)

    def at(self, name: str) -> str:
        return f"{self.base}/{name}"

    def renew(self) -> None:
        """The files as they were at first."""
        if self.written is not None:
            self.written.clear()
            self.written.update(self.files)


@dataclass(frozen=True)
class Operation:
    """``run`` is done under fault; ``after``, where there is one, looks at what it has written, without faults.

    ``after`` gets the error that was raised, and says all that may be found then.
    """

    run: Callable[[Place], Digests]
    after: Callable[[Place, bool], Digests] | None = None
    fault_free: tuple[str, ...] = ()
    """What may be found after an error, beside the right values: names of operations that read it."""


def scanned(name: str) -> Operation:
    return Operation(lambda place: digests(ba.open(ba.scan(place.at(name), access=place.access))))


def opened(name: str, member: str = "") -> Operation:
    def run(place: Place) -> Digests:
        node: Any = ba.open(place.at(name), access=place.access)
        return digests(node[member] if member else node)

    return Operation(run)


def _zip_member(place: Place) -> Digests:
    return digests(ba.open(ba.scan(f"zip://in.h5::{place.at('all.zip')}", access=place.access)))


def _combined(place: Place) -> Digests:
    inputs = [place.at(f"t{k}.h5") for k in range(3)]
    return digests(ba.open(ba.combine(inputs, "time", access=place.access)))


def _copied_here(place: Place) -> Digests:
    folder = Path(tempfile.mkdtemp())
    try:
        ba.copy(place.at("v0.h5"), folder / "c.zarr", access=place.access)
        return digests(ba.open(folder / "c.zarr"))
    finally:
        shutil.rmtree(folder)


def _copied_there(place: Place) -> Digests:
    ba.copy(place.at("v0.h5"), place.at("out.zarr"), access=place.access)
    return {}


def _copy_there(place: Place, failed: bool) -> Digests:
    """A copy that was stopped goes on when it is asked for again; when only its last answer was lost, it is done."""
    if failed:
        try:
            _copied_there(place)
        except ba.Conflict:  # done already, or of another state of the source: then it is begun anew
            if any(name.startswith("out.zarr/.byteatlas-") for name in place.written or ()):
                place.renew()
                _copied_there(place)
    return digests(ba.open(place.at("out.zarr"), access=place.access))


def appended(name: str) -> Operation:
    def run(place: Place) -> Digests:
        ba.append(place.at(name), [place.at("t1.h5")], "time", access=place.access)
        return {}

    def after(place: Place, failed: bool) -> Digests:
        return digests(ba.open(place.at(name), access=place.access))

    return Operation(run, after, (name,))


def written(name: str) -> Operation:
    def run(place: Place) -> Digests:
        ba.write(ba.scan(place.at("v0.h5"), access=place.access), place.at(name), access=place.access)
        return {}

    def after(place: Place, failed: bool) -> Digests:
        if failed:
            run(place)
        return digests(ba.open(place.at(name), access=place.access))

    return Operation(run, after)


READING: Mapping[str, Operation] = {
    "scan HDF5 v0": scanned("v0.h5"),
    "scan HDF5 v2": scanned("v2.h5"),
    "scan netCDF-3": scanned("a.nc"),
    "scan TIFF": scanned("a.tif"),
    "scan GRIB": scanned("plain.grib2"),
    "scan GRIB with an index": scanned("indexed.grib2"),
    "scan FITS": scanned("a.fits"),
    "scan HDF4": scanned("a.hdf"),
    "scan a ZIP member": Operation(_zip_member),
    "combine": Operation(_combined),
    "open an archive": opened("v0.h5"),
    "JSON map": opened("a.json"),
    "Parquet map": opened("a.parquet"),
    "Zarr v2": opened("v2.zarr", "v"),
    "Zarr v3": opened("v3.zarr", "v"),
    "Zarr shards": opened("s.zarr", "v"),
    "Zarr v2, consolidated": opened("c2.zarr"),
    "Zarr v3, consolidated": opened("c3.zarr"),
    "copy from": Operation(_copied_here),
}
WRITING: Mapping[str, Operation] = {
    "copy to": Operation(_copied_there, _copy_there),
    "write JSON": written("new.json"),
    "write Parquet": written("new.parquet"),
    "append JSON": appended("grown.json"),
    "append Parquet": appended("grown.parquet"),
}


def operations_at(place: Place) -> Mapping[str, Operation]:
    """What can be done there. s3fs writes new files in several parts, which our object storage does not know."""
    if place.written is None:
        return READING
    left_out = ("write JSON", "write Parquet") if place.name == "s3fs" else ()
    return {**READING, **{name: operation for name, operation in WRITING.items() if name not in left_out}}


def quietly(call: Callable[[], Digests]) -> Digests:
    """Without warnings: what is left out shows in the digests."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call()
