"""byteatlas: an atlas of byte ranges. Legacy archives as virtual Zarr.

>>> import byteatlas as ba
>>> vg = ba.scan("air_2013.nc")                 # doctest: +SKIP
>>> ba.write(vg, "air_2013.json")               # doctest: +SKIP
>>> ba.open("air_2013.json")["air"][0:10, ::2]  # doctest: +SKIP
"""

__version__ = "0.1.0"

TYPE_CHECKING = False  # type checkers take it as true; importing ``typing`` for it takes longer than all the rest
if TYPE_CHECKING:
    from byteatlas.api import (
        RefusalWarning,
        combine,
        copy,
        from_model,
        georeference,
        load,
        open,
        plan_combine,
        scan,
        to_model,
        verify,
        write,
    )
    from byteatlas.array import Array, Group, ReadOptions
    from byteatlas.array.geo import levels_of
    from byteatlas.array.writing.copy import CopyOptions
    from byteatlas.combining import CombineOptions, Plan
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
    from byteatlas.io.policy import Policy
    from byteatlas.manifest.model import ReportItem, VirtualArray, VirtualGroup
    from byteatlas.manifest.options import WriteOptions
    from byteatlas.scanning.contract import ScanOptions

__all__ = [
    "Array",
    "BadRequest",
    "BadSelection",
    "ByteatlasError",
    "CombineOptions",
    "Conflict",
    "CopyOptions",
    "CorruptChunk",
    "CorruptFile",
    "FetchFailed",
    "Forbidden",
    "Group",
    "InvalidMetadata",
    "MissingExtra",
    "NotFound",
    "Plan",
    "Policy",
    "ReadOptions",
    "RefusalWarning",
    "ReportItem",
    "ScanOptions",
    "SourceChanged",
    "Unsupported",
    "VirtualArray",
    "VirtualGroup",
    "WriteOptions",
    "combine",
    "copy",
    "from_model",
    "georeference",
    "levels_of",
    "load",
    "open",
    "plan_combine",
    "scan",
    "to_model",
    "verify",
    "write",
]


_PLACES = {
    "byteatlas.api": "RefusalWarning combine copy from_model georeference load open plan_combine scan to_model verify "
    "write",
    "byteatlas.array": "Array Group ReadOptions",
    "byteatlas.array.writing.copy": "CopyOptions",
    "byteatlas.array.geo": "levels_of",
    "byteatlas.combining": "CombineOptions Plan",
    "byteatlas.errors": "BadRequest BadSelection ByteatlasError Conflict CorruptChunk CorruptFile FetchFailed "
    "Forbidden InvalidMetadata MissingExtra NotFound SourceChanged Unsupported",
    "byteatlas.io.policy": "Policy",
    "byteatlas.manifest.model": "ReportItem VirtualArray VirtualGroup",
    "byteatlas.manifest.options": "WriteOptions",
    "byteatlas.scanning.contract": "ScanOptions",
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
