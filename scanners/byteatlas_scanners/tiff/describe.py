"""What image descriptions say of axes: OME-XML (2016-06), ImageJ's ``key=value`` lines, tifffile's JSON."""

from __future__ import annotations

import json
import math
from itertools import product
from typing import TYPE_CHECKING

from byteatlas.markup import parse_xml
from byteatlas.types import Shape
from byteatlas.values import dataclass

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

LARGEST_XML = 64 << 20
MAX_PLANES = 1 << 22


@dataclass(frozen=True, slots=True)
class Axes:
    """Leading axes of a stack: names and lengths, slowest first."""

    names: tuple[str, ...] = ()
    lengths: Shape = ()


@dataclass(frozen=True, slots=True)
class OmeImage:
    """One OME Image: its stacking axes, and for each position the number of its directory."""

    axes: Axes
    pages: tuple[int, ...]


def _without_ones(names: tuple[str, ...], lengths: Shape) -> Axes:
    kept = [(n, k) for n, k in zip(names, lengths, strict=True) if k != 1]
    return Axes(tuple(n for n, _ in kept), tuple(k for _, k in kept))


def imagej_axes(text: str) -> Axes | None:
    """Axes t, z, c of an ImageJ hyperstack, or None."""
    if not text.startswith("ImageJ="):
        return None
    found: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.partition("=")
        found[key.strip()] = value.strip()
    try:
        images = int(found.get("images", "1"))
        lengths = tuple(int(found.get(k, "1")) for k in ("frames", "slices", "channels"))
    except ValueError:
        return None
    if images < 1 or min(lengths) < 1 or images > MAX_PLANES:
        return None
    if math.prod(lengths) != images:
        return _without_ones(("page",), (images,))
    return _without_ones(("t", "z", "c"), lengths)


def shaped_axes(text: str, page: Shape) -> Axes | None:
    """Leading axes of a series that tifffile wrote: ``{"shape": [2, 3, 64, 96], "axes": "TCYX"}``."""
    if not (text.startswith("{") and '"shape"' in text[:64] and len(text) < LARGEST_XML):
        return None
    try:
        found = json.loads(text)
        shape = tuple(int(n) for n in found["shape"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    lead = len(shape) - len(page)
    if lead < 1 or shape[lead:] != page or min(shape) < 1 or math.prod(shape[:lead]) > MAX_PLANES:
        return None
    letters = found.get("axes")
    names = tuple(f"dim_{i}" for i in range(lead)) if lead > 1 else ("page",)
    if isinstance(letters, str) and len(letters) == len(shape) and len(set(letters[:lead])) == lead:
        names = tuple("page" if c in "QI" else c.lower() for c in letters[:lead])
        if len(set(names)) != lead or {"x", "y", "s"} & set(names):
            names = tuple(f"dim_{i}" for i in range(lead))
    return _without_ones(names, shape[:lead])


def ome_images(text: str, pages: int) -> list[OmeImage]:
    """The images that an OME-XML block describes; empty when it is not usable (other files, gaps, bad XML)."""
    if len(text) > LARGEST_XML:
        return []
    try:
        root = parse_xml(text)
    except ValueError:
        return []
    found: list[OmeImage] = []
    for pixels in (e for e in root.iter() if e.tag.rpartition("}")[2] == "Pixels"):
        try:
            image = _ome_image(pixels, pages)
        except (ValueError, KeyError):
            return []
        if image is None:
            return []
        found.append(image)
    return found


def _ome_image(pixels: Element, pages: int) -> OmeImage | None:
    order = pixels.attrib["DimensionOrder"][2:]  # after XY, fastest first
    if sorted(order) != ["C", "T", "Z"]:
        return None
    sizes = {axis: int(pixels.attrib[f"Size{axis}"]) for axis in "CTZ"}
    samples = {int(c.attrib.get("SamplesPerPixel", "1")) for c in _children(pixels, "Channel")} or {1}
    if len(samples) != 1 or min(sizes.values()) < 1:
        return None
    per_page = samples.pop()
    if sizes["C"] % per_page:
        return None
    sizes["C"] //= per_page
    total = math.prod(sizes.values())
    if total > min(MAX_PLANES, pages):
        return None
    places = {p: i for i, p in enumerate(product(*(range(sizes[a]) for a in reversed(order))))}
    table = _planes(pixels, order, sizes, places)
    if table is None or None in table:
        return None
    names = tuple(a.lower() for a in reversed(order))
    axes = _without_ones(names, tuple(sizes[a] for a in reversed(order)))
    return OmeImage(axes, tuple(p for p in table if p is not None))


def _children(parent: Element, name: str) -> list[Element]:
    return [e for e in parent if e.tag.rpartition("}")[2] == name]


def _planes(
    pixels: Element, order: str, sizes: dict[str, int], places: dict[tuple[int, ...], int]
) -> list[int | None] | None:
    """Directory numbers by position (C order of the reversed dimension order), from the TiffData elements."""
    total = len(places)
    table: list[int | None] = [None] * total
    blocks = _children(pixels, "TiffData")
    if not blocks:
        return [*range(total)]
    for block in blocks:
        uuid = _children(block, "UUID")
        if uuid and uuid[0].attrib.get("FileName") and len({*_file_names(pixels)}) > 1:
            return None  # planes in several files
        ifd = int(block.attrib.get("IFD", "0"))
        start = places.get(tuple(int(block.attrib.get(f"First{a}", "0")) for a in reversed(order)))
        if start is None or ifd < 0:
            return None
        count = int(block.attrib.get("PlaneCount", "1" if "IFD" in block.attrib else str(total)))
        for i in range(min(count, total - start)):
            table[start + i] = ifd + i
    return table


def _file_names(pixels: Element) -> set[str]:
    return {
        u.attrib["FileName"]
        for block in _children(pixels, "TiffData")
        for u in _children(block, "UUID")
        if "FileName" in u.attrib
    }
