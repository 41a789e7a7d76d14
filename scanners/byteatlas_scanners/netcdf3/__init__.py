"""netCDF classic files (CDF-1, CDF-2, CDF-5) as virtual Zarr."""

from __future__ import annotations

from dataclasses import dataclass

from byteatlas.errors import CorruptFile, Unsupported
from byteatlas.manifest.model import ReportItem, SourceInfo, VirtualArray, VirtualGroup
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import ArrayMeta, CodecSpec, Encoding, GroupMeta, RegularGrid
from byteatlas.scanning.contract import Parse, ScanOptions
from byteatlas.scanning.inline import inline_small
from byteatlas.scanning.reasons import Reason
from byteatlas_scanners.netcdf3.header import Header, Variable, read_header
from byteatlas_scanners.netcdf3.layout import data_end, lay_out, never_written

MAX_RANK = 64
"""NumPy's own limit."""
FILL_ATTRIBUTE = "_FillValue"
NEVER_WRITTEN = "the file ends before its data begin: nothing was ever written, all values read as zero"


@dataclass(frozen=True, slots=True)
class NetCDF3Scanner:
    """The scanner plugin for netCDF classic files."""

    name: str = "netcdf3"
    suffixes: tuple[str, ...] = (".nc", ".nc3", ".cdf")

    def sniff(self, head: bytes) -> bool:
        return head[:3] == b"CDF" and head[3:4] in (b"\1", b"\2", b"\5")

    def scan(self, source: SourceInfo, options: ScanOptions) -> Parse[VirtualGroup]:
        """One array a variable. Variables whose data are not wholly in the file are refused ("corrupt")."""
        header = yield from read_header(source.size or 0)
        group = to_group(header, source, options)
        if options.inline_below:
            group = yield from inline_small(group, options.inline_below, source.url, source.size)
        return group


def to_group(header: Header, source: SourceInfo, options: ScanOptions) -> VirtualGroup:
    """The virtual group for a header; no I/O."""
    arrays: dict[str, VirtualArray] = {}
    report: list[ReportItem] = []
    size = source.size or 0
    unwritten = never_written(header, size)
    surplus = _surplus(header, size)
    for v in header.variables:
        try:
            arrays[v.name] = to_array(v, header, source, options)
            detail = NEVER_WRITTEN if unwritten else surplus if v.is_record else ""
            report.append(ReportItem(v.name, "virtual", detail=detail, locators=(v.name,)))
        except CorruptFile as error:
            report.append(ReportItem(v.name, "refused", Reason.CORRUPT, str(error), (v.name,)))
        except Unsupported as error:
            report.append(ReportItem(v.name, "refused", error.reason, error.detail, (v.name,)))
    return VirtualGroup(GroupMeta(header.attributes), arrays, report=tuple(report))


def to_array(v: Variable, header: Header, source: SourceInfo, options: ScanOptions) -> VirtualArray:
    """One variable. Raises `CorruptFile` (data outside of the file) or `Unsupported`."""
    if len(v.shape) > MAX_RANK:
        raise Unsupported(Reason.DATASPACE, f"{len(v.shape)} dimensions; at most {MAX_RANK} are possible", v.name)
    if v.name in ("", ".", "..") or "/" in v.name or v.name.startswith("__") or v.name.startswith(".z"):
        raise Unsupported(Reason.NAME, f"{v.name!r} is not a legal Zarr node name", v.name)
    layout = lay_out(v, header, source, options.target_chunk)
    codecs = (CodecSpec("bytes", {} if v.dtype.itemsize == 1 else {"endian": "big"}),)
    encodings = [Encoding(codecs)]
    if layout.tail is not None:
        encodings.append(Encoding(codecs, chunk_shape=layout.tail))
    meta = ArrayMeta(
        shape=v.shape,
        data_type=from_numpy(v.dtype.newbyteorder("=")),
        grid=RegularGrid(layout.chunk_shape),
        encodings=tuple(encodings),
        fill_value=None if never_written(header, source.size or 0) else _fill(v),
        dimension_names=v.dimensions,
        attributes=v.attributes,
        zarr_format=2 if layout.tail is None else 3,
    )
    return VirtualArray(meta, layout.manifest)


def _fill(v: Variable) -> object:
    """`_FillValue` where the file sets it; no chunk of a classic file is ever missing, so nothing else is needed.

    The format's default fill values are deliberately not used: Zarr readers would mask them, and xarray's netCDF
    readers do not.
    """
    value = v.attributes.get(FILL_ATTRIBUTE)
    native = v.dtype.newbyteorder("=")
    if isinstance(value, str) and v.dtype.kind == "S" and len(value) <= 1:
        return native.type(value.encode("latin-1", "replace"))
    if isinstance(value, (int, float)) and v.dtype.kind != "S":
        try:
            scalar = native.type(value)
        except (OverflowError, ValueError):
            return None
        return scalar if scalar == value or value != value else None
    return None


def _surplus(header: Header, size: int) -> str:
    """What to say of bytes after the end of all data."""
    end = max((data_end(v, header) for v in header.variables), default=0)
    end += header.record_size and -end % 4
    return f"{size - end} bytes follow the last record" if header.record_size and size - end >= 4 else ""


SCANNER = NetCDF3Scanner()
