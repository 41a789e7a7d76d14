"""Reference maps of every form: which one it is, read it, write it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, MutableMapping
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal

from byteatlas.errors import BadRequest, InvalidMetadata
from byteatlas.io.access import DEFAULT, Access
from byteatlas.io.forms import form_of_url
from byteatlas.io.kind import kind_of
from byteatlas.io.local import ICECHUNK, LocalSource, absolute, is_repository, local_path
from byteatlas.io.output import new_file
from byteatlas.io.source import Source
from byteatlas.io.sources.memory import MemorySource
from byteatlas.io.sources.open_file import OPEN_FILE
from byteatlas.io.writing.versions import FileVersion
from byteatlas.manifest.json.compressed import compressing, decompressed
from byteatlas.manifest.model import VirtualNode
from byteatlas.manifest.options import Format, MapReadOptions, MapWriteOptions, TellArray
from byteatlas.manifest.origin import check_written
from byteatlas.manifest.reopening import MapPlace, MapRecipe
from byteatlas.manifest.targets import check_not_source, check_there, format_for
from byteatlas.progress import OnProgress, Progress
from byteatlas.types import JSON, Buffer
from byteatlas.values import replace

if TYPE_CHECKING:
    from byteatlas.manifest.foreign.icechunk.options import IcechunkOptions


def read_references(
    target: str | os.PathLike[str] | Buffer | Mapping[str, Any],
    *,
    access: Access = DEFAULT,
    options: MapReadOptions | None = None,
    form: Literal["json", "parquet"] | None = None,
) -> VirtualNode:
    """A reference map (kerchunk JSON, plain or compressed, Parquet folder) as a tree of virtual arrays, lazily.

    Args:
        target: a path or URL; the text itself; or the references as a dict. A text or dict is the caller's own: it may
            name any file, and relative ones are taken from the working folder.
        form: of the map at a URL, where it is known already; None = found out.

    Raises:
        InvalidMetadata: it is not a reference map; the message says where.
        FetchFailed: it is not there.
    """
    options = options or MapReadOptions(absent_parts=access.absent_parts)
    match target:
        case bytes() | bytearray() | memoryview():
            return _read_text(MemorySource(target, "map"), "map", options)
        case Mapping():
            return _read_text(MemorySource(_as_text(target), "map"), "map", options)
    if os.fspath(target).startswith(ICECHUNK):
        from byteatlas.manifest.foreign.icechunk import read_place

        return read_place(os.fspath(target), access)
    url = absolute(os.fspath(target)).rstrip("/")
    if options.base is None and not url.startswith(OPEN_FILE):  # which has no folder
        options = replace(options, base=url)
    given, options = replace(options, at_once=False, shared=None), replace(options, origin=url)
    path = local_path(url)
    if path is not None and is_repository(path):
        from byteatlas.manifest.foreign.icechunk import read_icechunk

        return read_icechunk(path)
    if is_parquet_map(url, access) if form is None or path is not None else form == "parquet":
        from byteatlas.manifest.parquet.read import read_parquet

        known = access.open(f"{url}/.zmetadata")
        options = replace(options, place=MapPlace(url, access, given, known, _read_again))

        def part(name: str) -> Source:
            return known if name == ".zmetadata" else access.open(f"{url}/{name}")

        return read_parquet(part, url, options)
    text = access.open(url)
    return _read_text(text, url, replace(options, place=MapPlace(url, access, given, text, _read_again)))


def _read_again(recipe: MapRecipe) -> VirtualNode:
    return read_references(recipe.url, access=recipe.access, options=recipe.options)


def is_parquet_map(url: str, access: Access | None = None) -> bool:
    """Whether a URL is (to be) a Parquet map: a folder, or anything named like one.

    With ``access`` also a remote folder whose name says nothing: what is in it does.
    """
    path = local_path(url)
    if path is not None and os.path.exists(path):
        return os.path.isdir(path)
    form = form_of_url(url)
    if form is None and path is None and access is not None and not url.startswith(OPEN_FILE):
        return kind_of(url, access) == "parquet"
    return form == "parquet"


def _as_text(references: Mapping[str, Any]) -> bytes:
    def plain(value: object) -> JSON:
        if isinstance(value, bytes):
            from byteatlas.manifest.json.write import inline_text

            return inline_text(value)
        if hasattr(value, "item"):
            return value.item()
        raise InvalidMetadata("map", f"not a reference: {value!r}"[:200])

    try:
        return json.dumps(dict(references), default=plain, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidMetadata("map", str(error)) from error


def _read_text(source: Source, where: str, options: MapReadOptions) -> VirtualNode:
    from byteatlas.manifest.json.read import read_json  # writers do without

    if not isinstance(source, (LocalSource, MemorySource)):  # all of it is needed: one request, whatever it is
        source = MemorySource(source.read_all(), where)
    plain = decompressed(source, where)
    return read_json(plain, where, options)


def write_references(
    node: VirtualNode,
    target: str | os.PathLike[str] | MutableMapping[str, JSON],
    format: Format | None = None,
    *,
    options: MapWriteOptions | None = None,
    access: Access = DEFAULT,
    progress: OnProgress | None = None,
    version: FileVersion | None = None,
    icechunk: IcechunkOptions | None = None,
) -> None:
    """Write a tree as a reference map. An interrupted write leaves what was there before.

    Args:
        target: a file for JSON (a suffix ``.gz``, ``.zst``, ``.bz2`` or ``.xz`` compresses it), a folder for Parquet;
            or a dict, whose content is replaced by the references.
        format: None = by the target's suffix; ``icechunk:`` in front of a path or URL says it as well.
        icechunk: how a repository is written.

    Raises:
        BadRequest: a name whose suffix is that of no map, without ``format``; a file that the references lead to.
        Conflict: what is there is no map.
        Unsupported: an array that the form cannot express; the message names it.
        FetchFailed: the target cannot be written.
        Forbidden: something from elsewhere names files of this machine; as references of a map that lies here they
            could be read. The policy can permit it.
    """
    check_written(node, access.policy)
    tell = None if progress is None else lambda name, n, of: progress(Progress("write", name, n, of))
    if isinstance(target, MutableMapping):
        from byteatlas.manifest.json.write import write_json

        text = BytesIO()
        write_json(node, text, options or MapWriteOptions(), version=0 if format == "json-v0" else 1, tell=tell)
        check_written(node, access.policy)
        target.clear()
        target.update(json.loads(text.getvalue()))
        return
    name = os.fspath(target)
    if name.startswith(ICECHUNK) or format == "icechunk":
        _write_repository(node, name, format, icechunk, options, access, tell)
        return
    url = absolute(os.fspath(target)).rstrip("/")
    check_not_source(node, url)
    form = format_for(url, format)
    check_there(url, form, access)
    options = replace(options or MapWriteOptions(), base=url)

    def check_again() -> None:
        """Sources of lazy manifests are known when they were read."""
        check_written(node, access.policy)
        check_not_source(node, url)

    match form:
        case "parquet":
            if options.zarr_format == 3:
                raise BadRequest("zarr_format=3 is for JSON maps and Icechunk: Parquet maps have no form for version 3")
            from byteatlas.manifest.parquet.marks import map_folder
            from byteatlas.manifest.parquet.write import write_parquet

            with map_folder(url, access) as folder:
                write_parquet(node, folder, options, tell)
                check_again()
        case "json" | "json-v0":
            from byteatlas.manifest.json.write import write_json

            with (
                new_file(url, access.storage_options, version) as sink,
                compressing(sink, url) as stream,
            ):
                write_json(node, stream, options, version=1 if form == "json" else 0, tell=tell)
                check_again()
        case "dmrpp":
            from byteatlas.manifest.foreign.dmrpp import write_dmrpp

            with new_file(url, access.storage_options) as sink:
                write_dmrpp(node, sink, options, tell)
                check_again()
        case other:
            raise BadRequest(f"unknown format {other!r}; known: json, json-v0, parquet, icechunk, dmrpp")


def _write_repository(
    node: VirtualNode,
    name: str,
    format: Format | None,
    icechunk: IcechunkOptions | None,
    options: MapWriteOptions | None,
    access: Access,
    tell: TellArray | None,
) -> None:
    from byteatlas.manifest.foreign.icechunk import IcechunkOptions, place_of_url, write_icechunk

    if format not in (None, "icechunk"):
        raise BadRequest(f"{name} names an Icechunk repository, and the format is {format!r}")
    place = place_of_url(name)
    if place.tag is not None or place.snapshot is not None:
        raise BadRequest(f"{name}: only branches can be written to")
    url = absolute(place.url).rstrip("/")
    check_not_source(node, url)
    check_there(url, "icechunk", access)
    chosen = icechunk or IcechunkOptions()
    chosen = replace(chosen, branch=place.branch or chosen.branch)
    if options is not None and options.relative:
        chosen = replace(chosen, relative=True)
    write_icechunk(node, url, chosen, access=access, tell=tell, check=lambda: check_written(node, access.policy))
