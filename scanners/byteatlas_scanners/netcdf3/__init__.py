"""netCDF classic files (CDF-1, CDF-2, CDF-5) as virtual Zarr."""

from __future__ import annotations

from byteatlas.errors import FileFault, Unsupported
from byteatlas.manifest.model import ReportItem, SourceInfo, VirtualArray, VirtualGroup
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import ArrayMeta, CodecSpec, Encoding, GroupMeta, RegularGrid
from byteatlas.scanning.contract import FirstBytes, Parse, Scanner, ScanOptions
from byteatlas.scanning.reasons import Reason
from byteatlas.scanning.report import refusal
from byteatlas_scanners.netcdf3.header import Header, Variable, read_header
from byteatlas_scanners.netcdf3.layout import data_end, lay_out, never_written

MAX_RANK = 64
"""NumPy's own limit."""
FILL_ATTRIBUTE = "_FillValue"
NEVER_WRITTEN = "the file ends before its data begin: nothing was ever written, all values read as zero"


class NetCDF3Scanner(Scanner):
    """The scanner plugin for netCDF classic files."""

    name = "netcdf3"
    suffixes = (".nc", ".nc3", ".cdf")
    verify = "byteatlas.verifying.native.netcdf3:open_netcdf3"

    def sniff(self, first: FirstBytes) -> bool:
        return first.data[:3] == b"CDF" and first.data[3:4] in (b"\1", b"\2", b"\5")

    def scan(self, source: SourceInfo, options: ScanOptions) -> Parse[VirtualGroup]:
        """One array a variable. Variables whose data are not wholly in the file are refused ("corrupt")."""
        header = yield from read_header(source.size or 0)
        return to_group(header, source, options)


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
        except FileFault as error:
            report.append(refusal(v.name, error, (v.name,)))
    return VirtualGroup(GroupMeta(header.attributes), arrays, report=tuple(report))


def to_array(v: Variable, header: Header, source: SourceInfo, options: ScanOptions) -> VirtualArray:
    """One variable. Raises `CorruptFile` (data outside of the file) or `Unsupported`."""
    if len(v.shape) > MAX_RANK:
        raise Unsupported(Reason.DATASPACE, f"{len(v.shape)} dimensions; at most {MAX_RANK} are possible", v.name)
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
