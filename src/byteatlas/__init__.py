"""An atlas of byte ranges. Legacy archives as virtual Zarr.

>>> import byteatlas as ba
>>> year = ba.combine(["jan.nc", "feb.nc"], concat="time")    # files are indexed; no data is read
>>> ba.write(year, "year.json")                               # or .parquet
>>> air = ba.open("year.json")["air"]
>>> air[0, 1:3, -1]
array([15., 23.], dtype=float32)

From files to data:

- `scan`, `scan_many`: archive files to virtual arrays; `load`, `write`: reference maps.
- `combine`, `plan_combine`, `prepare_combine`, `prepare_many`, `append`, `concat`: many trees as one;
  `multi_zarr`: with kerchunk's arguments; `by_valid_time`: forecasts by the moment that they are for.
- `select`, `mask`: parts of one.
- `open`, `open_array`, `open_group`: read values, as NumPy arrays. For xarray: ``engine="byteatlas"``; for zarr-python:
  `zarr_store`; from VirtualiZarr: `from_virtual`.
- `verify`: our values against those of the format's own library; `check`: have the files changed?
- `report`: a page for people about any of these; `stac_item`: an entry of a catalogue.
- `georeference`, `levels_of`: where rasters lie, and their overviews.
- `copy`, `array_meta`, `create_array`, `create_group`, `open_writable`, `to_model`, `from_model`: real Zarr stores.

How bytes are reached says `Access`; all errors are `ByteatlasError`. ``byteatlas --help`` has the same as commands.
"""

__version__ = "0.1.0"

TYPE_CHECKING = False  # type checkers take it as true; importing ``typing`` for it takes longer than all the rest
if TYPE_CHECKING:
    from byteatlas.api.appending import append
    from byteatlas.api.combination import combine, concat, plan_combine, prepare_combine
    from byteatlas.api.forecasts import by_valid_time
    from byteatlas.api.indexing import RefusalWarning, load, scan
    from byteatlas.api.kerchunk import MultiZarrOptions, multi_zarr
    from byteatlas.api.models import from_model, to_model
    from byteatlas.api.opening import copy, georeference, open, open_array, open_group
    from byteatlas.api.reporting.page import report
    from byteatlas.api.selection import mask, select
    from byteatlas.api.stores import create_array, create_group, open_writable
    from byteatlas.api.tree import VirtualTree
    from byteatlas.api.verification import check, verify
    from byteatlas.api.writing import write
    from byteatlas.array import Array, Group, ReadOptions
    from byteatlas.array.geo import levels_of
    from byteatlas.array.levels.options import LevelOptions
    from byteatlas.array.writing.copy import CopyOptions, CopyReport
    from byteatlas.array.writing.create import array_meta
    from byteatlas.array.writing.options import ArrayWriteOptions
    from byteatlas.array.writing.writable import WritableArray
    from byteatlas.combining.append import Appended
    from byteatlas.combining.model import (
        ByOrder,
        CombineOptions,
        Compute,
        Finding,
        FromAttribute,
        FromName,
        FromVariable,
        Plan,
        Values,
    )
    from byteatlas.combining.plan import Prepared
    from byteatlas.errors import (
        BadRequest,
        BadSelection,
        ByteatlasError,
        Conflict,
        CorruptChunk,
        CorruptFile,
        FetchFailed,
        Forbidden,
        InvalidMetadata,
        MissingExtra,
        NotFound,
        SourceChanged,
        Unsupported,
    )
    from byteatlas.executors.combining import prepare_many
    from byteatlas.executors.results import Failure, Results
    from byteatlas.executors.scanning import scan_many
    from byteatlas.io.access import Access
    from byteatlas.io.policy import Policy
    from byteatlas.io.retry import Retry
    from byteatlas.manifest.foreign.icechunk.options import IcechunkOptions
    from byteatlas.manifest.model import ReportItem, ScanReport, VirtualArray, VirtualGroup
    from byteatlas.manifest.ops.sources import SourceState
    from byteatlas.manifest.options import MapWriteOptions
    from byteatlas.progress import Progress
    from byteatlas.scanning.contract import ScanOptions
    from byteatlas.stac import StacOptions, stac_item
    from byteatlas.verifying.options import VerifyOptions
    from byteatlas.verifying.report import VerifyItem, VerifyReport
    from byteatlas.virtualizarr import from_virtual
    from byteatlas.zarr_stores.opening import zarr_store

__all__ = [
    "Access",
    "Appended",
    "Array",
    "ArrayWriteOptions",
    "BadRequest",
    "BadSelection",
    "ByOrder",
    "ByteatlasError",
    "CombineOptions",
    "Compute",
    "Conflict",
    "CopyOptions",
    "CopyReport",
    "CorruptChunk",
    "CorruptFile",
    "Failure",
    "FetchFailed",
    "Finding",
    "Forbidden",
    "FromAttribute",
    "FromName",
    "FromVariable",
    "Group",
    "IcechunkOptions",
    "InvalidMetadata",
    "LevelOptions",
    "MapWriteOptions",
    "MissingExtra",
    "MultiZarrOptions",
    "NotFound",
    "Plan",
    "Policy",
    "Prepared",
    "Progress",
    "ReadOptions",
    "RefusalWarning",
    "ReportItem",
    "Results",
    "Retry",
    "ScanOptions",
    "ScanReport",
    "SourceChanged",
    "SourceState",
    "StacOptions",
    "Unsupported",
    "Values",
    "VerifyItem",
    "VerifyOptions",
    "VerifyReport",
    "VirtualArray",
    "VirtualGroup",
    "VirtualTree",
    "WritableArray",
    "append",
    "array_meta",
    "by_valid_time",
    "check",
    "combine",
    "concat",
    "copy",
    "create_array",
    "create_group",
    "from_model",
    "from_virtual",
    "georeference",
    "levels_of",
    "load",
    "mask",
    "multi_zarr",
    "open",
    "open_array",
    "open_group",
    "open_writable",
    "plan_combine",
    "prepare_combine",
    "prepare_many",
    "report",
    "scan",
    "scan_many",
    "select",
    "stac_item",
    "to_model",
    "verify",
    "write",
    "zarr_store",
]


_PLACES = {
    "byteatlas.api.appending": "append",
    "byteatlas.api.combination": "combine concat plan_combine prepare_combine",
    "byteatlas.api.forecasts": "by_valid_time",
    "byteatlas.api.indexing": "RefusalWarning load scan",
    "byteatlas.api.writing": "write",
    "byteatlas.api.kerchunk": "MultiZarrOptions multi_zarr",
    "byteatlas.api.models": "from_model to_model",
    "byteatlas.api.opening": "copy georeference open open_array open_group",
    "byteatlas.api.reporting.page": "report",
    "byteatlas.api.selection": "mask select",
    "byteatlas.api.stores": "create_array create_group open_writable",
    "byteatlas.api.tree": "VirtualTree",
    "byteatlas.api.verification": "check verify",
    "byteatlas.array": "Array Group ReadOptions",
    "byteatlas.array.geo": "levels_of",
    "byteatlas.array.levels.options": "LevelOptions",
    "byteatlas.array.writing.copy": "CopyOptions CopyReport",
    "byteatlas.array.writing.create": "array_meta",
    "byteatlas.array.writing.options": "ArrayWriteOptions",
    "byteatlas.array.writing.writable": "WritableArray",
    "byteatlas.combining.append": "Appended",
    "byteatlas.combining.model": "ByOrder CombineOptions Compute Finding FromAttribute FromName FromVariable Plan "
    "Values",
    "byteatlas.combining.plan": "Prepared",
    "byteatlas.errors": "BadRequest BadSelection ByteatlasError Conflict CorruptChunk CorruptFile FetchFailed "
    "Forbidden InvalidMetadata MissingExtra NotFound SourceChanged Unsupported",
    "byteatlas.executors.combining": "prepare_many",
    "byteatlas.executors.results": "Failure Results",
    "byteatlas.executors.scanning": "scan_many",
    "byteatlas.io.access": "Access",
    "byteatlas.io.policy": "Policy",
    "byteatlas.io.retry": "Retry",
    "byteatlas.manifest.foreign.icechunk.options": "IcechunkOptions",
    "byteatlas.manifest.model": "ReportItem ScanReport VirtualArray VirtualGroup",
    "byteatlas.manifest.ops.sources": "SourceState",
    "byteatlas.manifest.options": "MapWriteOptions",
    "byteatlas.progress": "Progress",
    "byteatlas.scanning.contract": "ScanOptions",
    "byteatlas.verifying.report": "VerifyItem VerifyReport",
    "byteatlas.verifying.options": "VerifyOptions",
    "byteatlas.stac": "StacOptions stac_item",
    "byteatlas.virtualizarr": "from_virtual",
    "byteatlas.zarr_stores.opening": "zarr_store",
}
_MODULE_OF = {name: module for module, names in _PLACES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    """Public names are imported when they are first used: ``byteatlas --help`` needs none of them."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found: object = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
