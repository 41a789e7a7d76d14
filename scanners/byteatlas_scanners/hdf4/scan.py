"""One file as a tree of arrays: datasets, tables and images in the groups of the file's Vgroups."""

from __future__ import annotations

from collections.abc import Mapping

from byteatlas.errors import FileFault
from byteatlas.manifest.model import ReportItem, SourceInfo, VirtualArray, VirtualGroup
from byteatlas.meta.model import GroupMeta
from byteatlas.scanning.contract import Parse, ScanOptions
from byteatlas.scanning.parsers import all_of, gather
from byteatlas.scanning.reasons import Reason
from byteatlas.scanning.report import INCOMPLETE, left_out, refusal
from byteatlas.types import JSON
from byteatlas.values import dataclass, field, replace
from byteatlas_scanners.eos.decorate import decorate
from byteatlas_scanners.eos.structure import parse_structure
from byteatlas_scanners.hdf4 import sds_groups, sds_vgroups
from byteatlas_scanners.hdf4.build import dataset_array
from byteatlas_scanners.hdf4.file import Hdf4File, load_attributes, open_file
from byteatlas_scanners.hdf4.format.directory import TagRef
from byteatlas_scanners.hdf4.format.tags import ElementTag
from byteatlas_scanners.hdf4.format.vgroup import Vgroup
from byteatlas_scanners.hdf4.hierarchy import Hierarchy, arrange, legal, unused
from byteatlas_scanners.hdf4.images import image_arrays, read_images
from byteatlas_scanners.hdf4.sds import ScientificDataset, SdsContents
from byteatlas_scanners.hdf4.tables import table_arrays, user_tables

EOS_PLACES = {"grids": "", "swaths": ""}
STRUCTURE = "StructMetadata."


def struct_metadata(attributes: Mapping[str, JSON]) -> str:
    """HDF-EOS' description of the file, which long ones have in several attributes; empty where there is none."""
    parts = [value for name, value in sorted(attributes.items(), key=_number) if name.startswith(STRUCTURE)]
    return "".join(part for part in parts if isinstance(part, str))


def _number(item: tuple[str, JSON]) -> int:
    number = item[0].removeprefix(STRUCTURE)
    return int(number) if number.isdecimal() else 0


@dataclass(slots=True)
class TreeInMaking:
    """The groups in the making, by path."""

    hierarchy: Hierarchy
    arrays: dict[str, dict[str, VirtualArray]] = field(default_factory=dict)
    attributes: dict[str, dict[str, JSON]] = field(default_factory=dict)
    report: list[ReportItem] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)

    def path(self, home: str, name: str) -> str:
        """An unused path for an array."""
        return unused(f"{home}/{legal(name)}" if home else legal(name), self.taken)

    def put(self, path: str, array: VirtualArray) -> None:
        home, _, name = path.rpartition("/")
        self.arrays.setdefault(home, {})[name] = array


def scan(source: SourceInfo, options: ScanOptions) -> Parse[VirtualGroup]:
    """The file as a tree. Raises `CorruptFile` when its directory cannot be read."""
    file = yield from open_file(source, options)
    top = sds_vgroups.top_group(file)
    if top is None:
        contents = sds_vgroups.damaged(file) or SdsContents()
    else:
        contents = yield from sds_vgroups.read_datasets(file, top)
    if not contents.datasets and not contents.refused:  # older files, and those whose Vgroups are damaged
        old = yield from sds_groups.read_datasets(file)
        contents = replace(contents, datasets=old.datasets, refused=old.refused)
    tree = TreeInMaking(arrange(file))
    tree.taken.update(tree.hierarchy.owners)
    yield from all_of([_datasets(file, contents, tree), _tables(file, tree), _images(file, tree)])
    yield from _groups(file, contents, tree)
    root = _group(tree, "", sorted({*tree.arrays, *tree.hierarchy.owners, *tree.attributes}))
    return decorate(root, parse_structure(text), EOS_PLACES) if (text := struct_metadata(contents.attributes)) else root


def _datasets(file: Hdf4File, contents: SdsContents, tree: TreeInMaking) -> Parse[None]:
    found = yield from gather([dataset_array(file, dataset) for dataset in contents.datasets])
    for dataset, array in zip(contents.datasets, found, strict=True):
        home = (
            tree.hierarchy.home(TagRef(ElementTag.NDG, dataset.ref), TagRef(ElementTag.SDG, dataset.ref))
            if dataset.ref
            else ""
        )
        path = tree.path(home, dataset.name)
        if isinstance(array, FileFault):
            _refused(tree, path, dataset, array)
            continue
        tree.put(path, array)
        said = "" if path.rpartition("/")[2] == dataset.name else f"its name in the file is {dataset.name!r}"
        parts = (left_out("attributes", list(dataset.lost)), said)
        tree.report.append(ReportItem(path, "virtual", None, "; ".join(filter(None, parts)), dataset.locators))
    for name, error in contents.refused:
        tree.report.append(refusal(tree.path("", name), error))


def _refused(tree: TreeInMaking, path: str, dataset: ScientificDataset, error: FileFault) -> None:
    """A dataset without values keeps its attributes, as those of a group."""
    item = refusal(path, error, dataset.locators)
    tree.report.append(item)
    if item.reason == Reason.NEVER_WRITTEN and dataset.attributes:
        tree.attributes[path] = dict(dataset.attributes)


def _tables(file: Hdf4File, tree: TreeInMaking) -> Parse[None]:
    tables = user_tables(file)
    sound = [(ref, table) for ref, table in tables if not isinstance(table, FileFault)]
    yield from load_attributes(file, [ref for _, table in sound for _, ref in table.attributes])
    found = yield from gather([table_arrays(file, table) for _, table in sound])
    for ref, table in tables:
        if isinstance(table, FileFault):
            tree.report.append(refusal(tree.path("", f"vdata_{ref}"), table, (f"vdata/{ref}",)))
    for (ref, table), arrays in zip(sound, found, strict=True):
        path = tree.path(tree.hierarchy.home(TagRef(ElementTag.VDATA_HEADER, ref)), table.name or f"vdata_{ref}")
        if isinstance(arrays, FileFault):
            tree.report.append(refusal(path, arrays, (f"vdata/{ref}",)))
            continue
        for name, array in arrays.items():
            inner = unused(f"{path}/{legal(name)}", tree.taken) if name else path
            tree.put(inner, array)
            tree.report.append(
                ReportItem(inner, "virtual", locators=(f"vdata/{ref}/{name}" if name else f"vdata/{ref}",))
            )


def _images(file: Hdf4File, tree: TreeInMaking) -> Parse[None]:
    images = yield from read_images(file)
    found = yield from gather([image_arrays(file, image) for image in images])
    for image, arrays in zip(images, found, strict=True):
        path = tree.path(tree.hierarchy.home(*image.keys), image.name)
        if isinstance(arrays, FileFault):
            tree.report.append(refusal(path, arrays, image.locators))
            continue
        tree.put(path, arrays.pixels)
        tree.report.append(
            ReportItem(path, "virtual", detail=left_out("attributes", list(image.lost)), locators=image.locators)
        )
        if arrays.palette is not None:
            inner = unused(f"{path}_palette", tree.taken)
            tree.put(inner, arrays.palette)
            tree.report.append(ReportItem(inner, "virtual", locators=tuple(f"{x}/palette" for x in image.locators)))


def _groups(file: Hdf4File, contents: SdsContents, tree: TreeInMaking) -> Parse[None]:
    """Attributes of the file and of its Vgroups."""
    owners = tree.hierarchy.owners
    yield from load_attributes(file, [ref for groups in owners.values() for g in groups for ref in g.attributes])
    tree.attributes[""] = {**contents.attributes}
    lost = list(contents.lost)
    if lost:
        tree.report.append(ReportItem("/", INCOMPLETE, Reason.CORRUPT.value, left_out("attributes", lost)))
    for path, groups in owners.items():
        found, missing = file.attributes(ref for group in groups for ref in group.attributes)
        tree.attributes[path] = found
        if missing:
            tree.report.append(ReportItem(path, INCOMPLETE, Reason.CORRUPT.value, left_out("attributes", missing)))
    for ref, group in file.groups.items():
        if not isinstance(group, Vgroup):
            tree.report.append(refusal(f"group_{ref}", group, (f"vgroup/{ref}",)))


def _group(tree: TreeInMaking, path: str, paths: list[str]) -> VirtualGroup:
    """A group and all below it."""
    prefix = f"{path}/" if path else ""
    names = dict.fromkeys(p[len(prefix) :].partition("/")[0] for p in paths if p != path and p.startswith(prefix))
    groups = {name: _group(tree, prefix + name, paths) for name in names if name}
    report = tuple(tree.report) if not path else ()
    return VirtualGroup(GroupMeta(tree.attributes.get(path, {})), tree.arrays.get(path, {}), groups, report)
