"""byteatlas: an atlas of byte ranges. Legacy archives as virtual Zarr.

>>> import byteatlas as ba
>>> vg = ba.scan("air_2013.nc")                 # doctest: +SKIP
>>> ba.write(vg, "air_2013.json")               # doctest: +SKIP
>>> ba.open("air_2013.json")["air"][0:10, ::2]  # doctest: +SKIP
"""

__version__ = "0.1.0"

from byteatlas.api import RefusalWarning, combine, load, open, plan_combine, scan, verify, write
from byteatlas.array import Array, Group, ReadOptions
from byteatlas.combine import CombineOptions, Plan
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
from byteatlas.scan.contract import ScanOptions

__all__ = [
    "Array",
    "BadRequest",
    "BadSelection",
    "ByteatlasError",
    "CombineOptions",
    "Conflict",
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
    "load",
    "open",
    "plan_combine",
    "scan",
    "verify",
    "write",
]
