"""From a file's images to the virtual group: arrays, levels as subgroups, coordinates, attributes, the report."""

from __future__ import annotations

from collections.abc import Mapping

from byteatlas.errors import FileFault
from byteatlas.manifest.model import ReportItem, SourceInfo, VirtualArray, VirtualGroup
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import ArrayMeta, GroupMeta, RegularGrid
from byteatlas.scanning.contract import ScanOptions
from byteatlas.scanning.report import left_out, refusal
from byteatlas.types import JSON
from byteatlas.values import dataclass, field, replace
from byteatlas_scanners.tiff.attributes import array_attributes, fill_value, group_attributes, lost_tags
from byteatlas_scanners.tiff.crs.geo import GeoTags, band_labels, coordinates, georeference
from byteatlas_scanners.tiff.layout import lay_out
from byteatlas_scanners.tiff.page import Page
from byteatlas_scanners.tiff.samples import sample_type
from byteatlas_scanners.tiff.series import Contents, Image, Stack

DATA, MASK = "data", "mask"


@dataclass(slots=True)
class _Draft:
    """A group in the making."""

    attributes: dict[str, JSON] = field(default_factory=dict)
    arrays: dict[str, VirtualArray] = field(default_factory=dict)
    groups: dict[str, VirtualGroup] = field(default_factory=dict)


def to_group(contents: Contents, source: SourceInfo, options: ScanOptions) -> VirtualGroup:
    """The virtual group of a file: one image at the root, several in groups ``image_0``, ``image_1``..."""
    report: list[ReportItem] = []
    if len(contents.images) == 1:
        root = _image(contents.images[0], 0, "", source, options, report)
    else:
        root = _Draft()
        for i, image in enumerate(contents.images):
            name = f"image_{i}"
            draft = _image(image, i, f"{name}/", source, options, report)
            if draft.arrays or draft.groups:
                root.groups[name] = VirtualGroup(GroupMeta(draft.attributes), draft.arrays, draft.groups)
    report.extend(refusal(r.name, r.error, (r.name,)) for r in contents.refused)
    return VirtualGroup(GroupMeta(root.attributes), root.arrays, root.groups, tuple(report))


def _image(
    image: Image, number: int, prefix: str, source: SourceInfo, options: ScanOptions, report: list[ReportItem]
) -> _Draft:
    """One image with its levels (subgroups ``overview_1``...) and masks."""
    full = image.levels[0].first
    geo = georeference(full)
    draft = _Draft(group_attributes(full))
    for i, stack in enumerate(image.levels):
        into = draft if i == 0 else _Draft()
        inside = prefix if i == 0 else f"{prefix}overview_{i}/"
        _level(stack, full, geo, into, inside, _locators(stack, number, i), source, options, report)
        mask = image.masks.get(i)
        if mask is not None:
            _mask(mask, into, inside, geo, image.mask_source or source, options, report)
        if i and into.arrays:
            draft.groups[f"overview_{i}"] = VirtualGroup(GroupMeta(into.attributes), into.arrays)
    for level, mask in image.masks.items():
        if level < 0:  # of no level's size
            extra = _Draft()
            _mask(mask, extra, f"{prefix}{MASK}_{-level}/", None, source, options, report)
            draft.groups[f"{MASK}_{-level}"] = VirtualGroup(GroupMeta(), extra.arrays)
    if len(image.levels) > 1 and DATA in draft.arrays:
        draft.attributes["multiscales"] = [_multiscales(image, draft)]
    return draft


def _locators(stack: Stack, number: int, level: int) -> tuple[str, ...]:
    """One place for each index along the leading axis; a name for the whole where there are several axes."""
    if len(stack.axes.names) > 1 or len({p.ifd.name for p in stack.pages}) != len(stack.pages):
        return (f"series/{number}/level/{level}",)
    return tuple(p.ifd.name for p in stack.pages)


def _level(
    stack: Stack,
    full: Page,
    geo: GeoTags | None,
    into: _Draft,
    inside: str,
    locators: tuple[str, ...],
    source: SourceInfo,
    options: ScanOptions,
    report: list[ReportItem],
) -> None:
    page = stack.first
    here = None if geo is None else geo.scaled(full.width / page.width, full.height / page.height)
    try:
        array, detail = to_array(stack, source, options)
    except FileFault as error:
        report.append(refusal(f"{inside}{DATA}", error, locators))
        return
    attributes = {**array_attributes(page, full), **(here.attributes() if here else {})}
    into.arrays[DATA] = replace(array, meta=array.meta.with_attributes(attributes))
    if here is not None:
        into.arrays.update(coordinates(here, page.width, page.height))
    labels = band_labels(attributes.get("band_names")) if "band" in page.dims else None
    if labels is not None:
        into.arrays["band"] = labels
    lost = left_out("tags", lost_tags(page, full))
    report.append(ReportItem(f"{inside}{DATA}", "virtual", None, "; ".join(filter(None, (detail, lost))), locators))


def _mask(
    page: Page,
    into: _Draft,
    inside: str,
    geo: GeoTags | None,
    source: SourceInfo,
    options: ScanOptions,
    report: list[ReportItem],
) -> None:
    try:
        array, detail = to_array(Stack((page,)), source, options)
    except FileFault as error:
        report.append(refusal(f"{inside}{MASK}", error, (page.ifd.name,)))
        return
    attributes: dict[str, JSON] = {"long_name": "mask; 0 marks what is not valid"}
    if page.bits == 1:
        attributes |= {"flag_values": [0, 1], "flag_meanings": "invalid valid"}
    if geo is not None:
        attributes["grid_mapping"] = "spatial_ref"
    into.arrays[MASK] = replace(array, meta=array.meta.with_attributes(attributes))
    if DATA in into.arrays:
        data = into.arrays[DATA]
        linked = {**data.meta.attributes, "ancillary_variables": MASK}
        into.arrays[DATA] = replace(data, meta=data.meta.with_attributes(linked))
    report.append(ReportItem(f"{inside}{MASK}", "virtual", detail=detail, locators=(page.ifd.name,)))


def to_array(stack: Stack, source: SourceInfo, options: ScanOptions) -> tuple[VirtualArray, str]:
    """A stack as an array, and what to say of it. Raises `CorruptFile` or `Unsupported`."""
    page = stack.first
    layout = lay_out(stack.pages, stack.leading, source, options.target_chunk)
    dtype = sample_type(page)
    meta = ArrayMeta(
        shape=(*stack.leading, *page.shape),
        data_type=from_numpy(dtype),
        grid=RegularGrid(layout.chunk_shape),
        encodings=layout.encodings,
        fill_value=fill_value(page, dtype),
        dimension_names=(*stack.axes.names, *page.dims),
        zarr_format=2 if len(layout.encodings) == 1 else 3,
    )
    said = []
    if layout.missing:
        said.append(f"{layout.missing} tiles or strips were never written")
    if layout.outside:
        said.append(f"{layout.outside} tiles or strips lie beyond the end of the file: reading them fails")
    return VirtualArray(meta, layout.manifest), "; ".join(said)


def _multiscales(image: Image, draft: _Draft) -> Mapping[str, JSON]:
    """The levels in OME-NGFF's form (0.4): paths and scale factors relative to the full resolution."""
    names = (*image.levels[0].axes.names, *image.levels[0].first.dims)
    kinds = {"x": "space", "y": "space", "z": "space", "t": "time"}
    full = image.levels[0].first
    datasets = []
    for i, stack in enumerate(image.levels):
        path = DATA if i == 0 else f"overview_{i}/{DATA}"
        if i and f"overview_{i}" not in draft.groups:
            continue
        factors = {"x": full.width / stack.first.width, "y": full.height / stack.first.height}
        scale = [float(factors.get(n, 1.0)) for n in names]
        datasets.append({"path": path, "coordinateTransformations": [{"type": "scale", "scale": scale}]})
    axes = [{"name": n, "type": kinds.get(n, "channel")} for n in names]
    return {"version": "0.4", "name": DATA, "axes": axes, "datasets": datasets}
