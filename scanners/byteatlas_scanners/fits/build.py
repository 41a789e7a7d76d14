"""From a file's units to the virtual group: names, attributes, the report."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from byteatlas.errors import FileFault, Unsupported
from byteatlas.manifest.model import ReportItem, SourceInfo, VirtualArray, VirtualGroup
from byteatlas.meta.model import GroupMeta
from byteatlas.meta.names import legal_name
from byteatlas.scanning.contract import Parse, ScanOptions
from byteatlas.scanning.parsers import gather
from byteatlas.scanning.reasons import Reason
from byteatlas.scanning.report import INCOMPLETE, refusal
from byteatlas.values import dataclass, field, replace
from byteatlas_scanners.fits.checksum import check_sum
from byteatlas_scanners.fits.compressed import described, is_compressed_image
from byteatlas_scanners.fits.groups import group_arrays
from byteatlas_scanners.fits.hdus import Hdu, HduChain
from byteatlas_scanners.fits.header import BLOCK
from byteatlas_scanners.fits.images import image_array
from byteatlas_scanners.fits.tables import table_columns
from byteatlas_scanners.fits.tiles import tile_array
from byteatlas_scanners.fits.wcs import coordinates

DATA = "data"
LAYOUT_KEYS = re.compile(
    r"SIMPLE|XTENSION|BITPIX|NAXIS\d*|PCOUNT|GCOUNT|EXTEND|GROUPS|END|TFIELDS|THEAP|LONGSTRN|"
    r"T(?:TYPE|FORM|UNIT|NULL|SCAL|ZERO|DISP|DIM|BCOL)\d+|P(?:TYPE|SCAL|ZERO)\d+|"
    r"ZIMAGE|ZTABLE|ZSIMPLE|ZTENSION|ZEXTEND|ZBITPIX|ZNAXIS\d*|ZTILE\d+|ZCMPTYPE|ZNAME\d+|ZVAL\d+|ZPCOUNT|ZGCOUNT|"
    r"ZQUANTIZ|ZDITHER0|ZMASKCMP|ZBLOCKED|ZTILELEN|ZFORM\d+|ZCTYP\d+|ZTHEAP|ZSCALE|ZZERO"
)
"""Keywords that say how data are stored, which the arrays say themselves."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The scanner's own options (`byteatlas_scanners.fits.FitsScanner.options`)."""

    unpack_columns: bool = False
    checksums: bool = False


@dataclass(slots=True)
class _Draft:
    """A unit's group in the making: ``items`` are for the report, their paths relative to the group."""

    arrays: dict[str, VirtualArray] = field(default_factory=dict)
    items: list[ReportItem] = field(default_factory=list)


def to_group(chain: HduChain, source: SourceInfo, options: ScanOptions, choice: Choice) -> Parse[VirtualGroup]:
    """One group for each unit with data, or everything at the root where there is only one unit."""
    units = chain.units
    drafts = yield from gather([_draft(u, source, options, choice) for u in units])
    names = unit_names(units)
    attributes = units[0].header.attributes(LAYOUT_KEYS)
    report: list[ReportItem] = []
    groups: dict[str, VirtualGroup] = {}
    arrays: Mapping[str, VirtualArray] = {}
    for unit, draft, name in zip(units, drafts, names, strict=True):
        prefix = "" if len(units) == 1 and chain.fault is None else f"{name}/"
        if isinstance(draft, FileFault):
            report.append(refusal((prefix + DATA) if prefix else DATA, draft, (unit.locator,)))
            continue
        report += [_moved(item, prefix) for item in draft.items]
        if not prefix:
            arrays = draft.arrays
        elif draft.arrays or unit.number:
            groups[name] = VirtualGroup(GroupMeta(unit.header.attributes(LAYOUT_KEYS)), draft.arrays)
    said = remark(chain, source.size or 0)
    if said and report:
        report[-1] = replace(report[-1], detail="; ".join(filter(None, (report[-1].detail, said))))
    elif said:
        report.append(ReportItem("/", INCOMPLETE, Reason.CORRUPT.value, said))
    if chain.fault is not None:
        report.append(refusal(f"hdu_{len(units)}", chain.fault, (f"hdu/{len(units)}",)))
    return VirtualGroup(GroupMeta(attributes), arrays, groups, tuple(report))


def remark(chain: HduChain, size: int) -> str:
    """What to say of the end of the file: nothing else tells that a file lost its last units."""
    if size % BLOCK:
        return "the file does not end with a whole block: units may be missing"
    return f"{chain.surplus} bytes follow the last unit" if chain.surplus else ""


def _moved(item: ReportItem, prefix: str) -> ReportItem:
    return ReportItem(prefix + item.path, item.status, item.reason, item.detail, item.locators)


def unit_names(units: tuple[Hdu, ...]) -> list[str]:
    """A name for each unit: EXTNAME, with EXTVER where it is not the only one, or ``hdu_N``."""
    titles = [u.header.text("EXTNAME") or ("" if u.number else "PRIMARY") for u in units]
    count = Counter(titles)
    full: list[str] = []
    for unit, title in zip(units, titles, strict=True):
        version = unit.header.number("EXTVER")
        full.append(title if count[title] == 1 else f"{title}_{1 if version is None else version}" if title else "")
    again = Counter(full)
    found: list[str] = []
    for unit, name in zip(units, full, strict=True):
        sound = legal_name(name) and again[name] == 1 and name == name.strip()
        found.append(name if sound and not re.fullmatch(r"hdu_\d+", name) else f"hdu_{unit.number}")
    return found


def _draft(unit: Hdu, source: SourceInfo, options: ScanOptions, choice: Choice) -> Parse[_Draft]:
    """The arrays of one unit. Raises a `FileFault` when it has none because of one fault."""
    if not unit.shape:
        return _Draft()
    if choice.checksums:
        yield from check_sum(unit, source.size or 0)
    if is_compressed_image(unit):
        array = yield from tile_array(unit, source)
        return _image(unit, array, described(unit).shape)
    if unit.header.first.get("ZTABLE") is True:
        why = "a tile-compressed table (funpack makes an ordinary one of it)"
        raise Unsupported(Reason.COMPRESSION, why)
    match unit.kind:
        case "IMAGE":
            return _image(unit, image_array(unit, source, options), unit.shape)
        case "GROUPS":
            return _named(unit, dict(group_arrays(unit, source, options)))
        case "BINTABLE" | "TABLE":
            return _named(unit, dict(table_columns(unit, source, options, choice.unpack_columns)))
    raise Unsupported(Reason.LAYOUT, f"an extension of type {unit.kind!r}")


def _image(unit: Hdu, array: VirtualArray, shape: tuple[int, ...]) -> _Draft:
    axes = coordinates(unit.header, shape)
    item = ReportItem(DATA, "virtual", locators=(unit.locator,))
    return _Draft({DATA: array, **axes}, [item])


def _named(unit: Hdu, found: Mapping[str, VirtualArray | FileFault]) -> _Draft:
    """Arrays under names that nodes may have."""
    draft = _Draft()
    for number, (label, array) in enumerate(found.items(), 1):
        name = label if legal_name(label) else f"column_{number}"
        while name in draft.arrays:
            name += "_"
        places = (f"{unit.locator}/{label}",)
        if isinstance(array, FileFault):
            draft.items.append(refusal(name, array, places))
        else:
            draft.arrays[name] = array
            draft.items.append(ReportItem(name, "virtual", locators=places))
    return draft
