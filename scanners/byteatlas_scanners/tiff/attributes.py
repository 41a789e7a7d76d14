"""Attributes of arrays and groups, and the fill value, from tags and from GDAL's metadata."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from byteatlas.errors import CorruptFile
from byteatlas.markup import parse_xml
from byteatlas.types import JSON
from byteatlas_scanners.tiff.page import PALETTE, Page
from byteatlas_scanners.tiff.samples import sample_type
from byteatlas_scanners.tiff.tags import Tag

PHOTOMETRICS = {
    0: "minisWhite", 1: "minisBlack", 2: "RGB", 3: "palette", 4: "mask", 5: "separated", 6: "YCbCr", 8: "CIELab",
    9: "ICCLab", 10: "ITULab", 32803: "CFA", 32844: "LogL", 32845: "LogLuv", 34892: "linear raw",
}  # fmt: skip

TEXTS: Mapping[Tag, str] = {
    Tag.DOCUMENT_NAME: "TIFFTAG_DOCUMENTNAME",
    Tag.IMAGE_DESCRIPTION: "TIFFTAG_IMAGEDESCRIPTION",
    Tag.MAKE: "TIFFTAG_MAKE",
    Tag.MODEL: "TIFFTAG_MODEL",
    Tag.SOFTWARE: "TIFFTAG_SOFTWARE",
    Tag.DATE_TIME: "TIFFTAG_DATETIME",
    Tag.ARTIST: "TIFFTAG_ARTIST",
    Tag.HOST_COMPUTER: "TIFFTAG_HOSTCOMPUTER",
    Tag.COPYRIGHT: "TIFFTAG_COPYRIGHT",
}
"""Text tags under the names that GDAL and rioxarray give them."""

OTHERS = frozenset(
    {
        Tag.X_RESOLUTION, Tag.Y_RESOLUTION, Tag.RESOLUTION_UNIT, Tag.ORIENTATION, Tag.COLOR_MAP, Tag.GDAL_METADATA,
        Tag.GDAL_NODATA, Tag.MODEL_PIXEL_SCALE, Tag.MODEL_TIEPOINT, Tag.MODEL_TRANSFORMATION, Tag.GEO_KEY_DIRECTORY,
        Tag.GEO_DOUBLE_PARAMS, Tag.GEO_ASCII_PARAMS, Tag.RPC_COEFFICIENTS,
    }
)  # fmt: skip
"""Other tags that become attributes or coordinates."""

LONGEST_TEXT = 1 << 20
MAX_GDAL_ITEMS = 10_000


def text_attributes(page: Page) -> dict[str, JSON]:
    """The text tags and the resolution; undecodable or empty ones are left out."""
    found: dict[str, JSON] = {}
    for tag, name in TEXTS.items():
        text = page.ifd.text(tag)
        if text and len(text) <= LONGEST_TEXT:
            found[name] = text
    for tag, name in ((Tag.X_RESOLUTION, "TIFFTAG_XRESOLUTION"), (Tag.Y_RESOLUTION, "TIFFTAG_YRESOLUTION")):
        ratio = _ratio(page, tag)
        if ratio is not None:
            found[name] = ratio
    units = {1: "unitless", 2: "pixels/inch", 3: "pixels/cm"}
    if Tag.RESOLUTION_UNIT in page.ifd:
        unit = units.get(_number(page, Tag.RESOLUTION_UNIT, 0))
        if unit:
            found["TIFFTAG_RESOLUTIONUNIT"] = unit
    return found


def lost_tags(*pages: Page) -> list[str]:
    """Tags of these pages that would be attributes or coordinates and could not be read, each with a reason."""
    found: dict[str, None] = {}
    for page in pages:
        for tag, entry in page.ifd.fields.items():
            if entry.raw is None and (tag in TEXTS or tag in OTHERS):
                where = entry.where
                why = f"{where.length} bytes at {where.offset}: not in the file, or too many"
                found[f"{Tag(tag).name} of {page.ifd.name} ({why})"] = None
        text = page.ifd.text(Tag.GDAL_METADATA)
        if text and not gdal_metadata(page) and "<GdalItem" in text:
            found[f"{Tag.GDAL_METADATA.name} of {page.ifd.name} (not XML that is accepted)"] = None
    return list(found)


def _ratio(page: Page, tag: Tag) -> float | None:
    try:
        values = page.ifd.array(tag)
    except CorruptFile:
        return None
    if values is None or values.shape != (1, 2) or not values[0, 1]:
        return None
    return float(values[0, 0]) / float(values[0, 1])


def _number(page: Page, tag: Tag, default: int) -> int:
    try:
        return page.ifd.first(tag, default)
    except CorruptFile:
        return default


def group_attributes(page: Page) -> dict[str, JSON]:
    """What concerns the whole image: text tags, and metadata that GDAL lifted from a netCDF file's globals."""
    found = text_attributes(page)
    for item in gdal_metadata(page):
        name = item.name.removeprefix("NC_GLOBAL#")
        if name != item.name and name:
            found[name] = item.value
    return found


def array_attributes(page: Page, full: Page) -> dict[str, JSON]:
    """Attributes of one level's array; metadata that stand with the full image hold for its levels too."""
    found: dict[str, JSON] = {"photometric": PHOTOMETRICS.get(page.photometric, page.photometric)}
    orientation = _number(page, Tag.ORIENTATION, 1)
    if orientation != 1:
        found["orientation"] = orientation
    if page.photometric == PALETTE:
        palette = _palette(page)
        if palette is not None:
            found["palette"] = palette
    found.update(_from_gdal(full))
    text = full.ifd.text(Tag.GDAL_NODATA) or page.ifd.text(Tag.GDAL_NODATA)
    if text is not None:
        value = _nodata(text)
        scalar = None if value is None else _represent(value, sample_type(full))
        if scalar is not None and scalar.dtype.kind != "c":  # JSON has no complex numbers
            found["_FillValue"] = scalar.item()
        else:
            found["nodata"] = text.strip()
    return found


def _palette(page: Page) -> list[list[int]] | None:
    """Rows of red, green, blue (16 bits each) by index."""
    try:
        values = page.ifd.array(Tag.COLOR_MAP)
    except CorruptFile:
        return None
    if values is None or values.ndim != 1 or values.size % 3 or values.size > 3 << 16:
        return None
    rows: list[list[int]] = values.reshape(3, -1).T.tolist()
    return rows


class GdalItem:
    """One ``<Item>`` of GDAL_METADATA: a name, a value, perhaps a band (``sample``) and a ``role``."""

    __slots__ = ("name", "role", "sample", "value")

    def __init__(self, name: str, value: str, sample: int | None, role: str) -> None:
        self.name, self.value, self.sample, self.role = name, value, sample, role


def gdal_metadata(page: Page) -> list[GdalItem]:
    """The items of tag 42112; none when it is absent or not XML."""
    text = page.ifd.text(Tag.GDAL_METADATA)
    if not text or len(text) > LONGEST_TEXT:
        return []
    try:
        root = parse_xml(text)
    except ValueError:
        return []
    items = []
    for element in root.findall("Item")[:MAX_GDAL_ITEMS]:
        sample = element.get("sample")
        band = int(sample) if sample is not None and sample.isdigit() and len(sample) < 9 else None
        items.append(GdalItem(element.get("name", ""), element.text or "", band, element.get("role", "")))
    return items


ROLES = {"scale": "scale_factor", "offset": "add_offset", "description": "long_name", "unittype": "units"}


def _from_gdal(page: Page) -> dict[str, JSON]:
    """Scale, offset, names and units of bands (one value when all bands agree, else a list), other items as they are.

    A scale or offset that differs between bands is kept as ``scale_factors`` / ``add_offsets``: no reader of CF
    attributes may apply it.
    """
    found: dict[str, JSON] = {}
    bands: dict[str, dict[int, JSON]] = {}
    for item in gdal_metadata(page):
        if item.role in ROLES and item.sample is not None:
            value = _float(item.value) if item.role in ("scale", "offset") else item.value
            if value is not None:
                bands.setdefault(item.role, {})[item.sample] = value
        elif item.name and not item.name.startswith("NC_GLOBAL#"):
            found[item.name if item.sample is None else f"{item.name}#{item.sample}"] = item.value
    defaults: dict[str, JSON] = {"scale": 1.0, "offset": 0.0, "description": "", "unittype": ""}
    for role, values in bands.items():
        every = [values.get(i, defaults[role]) for i in range(page.samples)]
        if len({repr(v) for v in every}) == 1:
            found[ROLES[role]] = every[0]
        elif role in ("scale", "offset"):
            found[ROLES[role] + "s"] = every
        else:
            found["band_names" if role == "description" else "band_units"] = every
    return found


def _float(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


SPELLINGS = {
    "-1.#ind": math.nan, "1.#qnan": math.nan, "nan(ind)": math.nan, "-nan": math.nan, "1.#inf": math.inf,
    "-1.#inf": -math.inf,
}  # fmt: skip


def _nodata(text: str) -> int | float | None:
    """The number that GDAL_NODATA spells, or None."""
    text = text.strip().lower()
    if text in SPELLINGS:
        return SPELLINGS[text]
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None


def _represent(value: float, dtype: np.dtype[np.generic]) -> np.generic | None:
    """A value as a scalar of a type, or None when the type cannot hold it (never clamped)."""
    if dtype.kind in "iu":
        if value != value or math.isinf(value) or int(value) != value:
            return None
        low, high = (0, 2 ** (8 * dtype.itemsize) - 1) if dtype.kind == "u" else _signed(8 * dtype.itemsize)
        return dtype.type(int(value)) if low <= value <= high else None
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            scalar = dtype.type(value)
        return None if np.isinf(scalar) and not math.isinf(value) else scalar
    return dtype.type(value) if dtype.kind == "c" else None


def _signed(bits: int) -> tuple[int, int]:
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def fill_value(page: Page, dtype: np.dtype[np.generic]) -> np.generic | None:
    """What a tile reads as that was never written: GDAL_NODATA where the type holds it, else zero (None)."""
    text = page.ifd.text(Tag.GDAL_NODATA)
    value = None if text is None else _nodata(text)
    return None if value is None else _represent(value, dtype)
