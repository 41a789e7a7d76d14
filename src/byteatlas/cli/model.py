"""``byteatlas model``: Zarr object models (ZEP 6), a hierarchy's structure without its data, as JSON."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import click

from byteatlas.cli.common import json_option, print_json, storage_option
from byteatlas.errors import BadRequest, Conflict, InvalidMetadata, NotFound
from byteatlas.io.access import Access
from byteatlas.types import JSON

if TYPE_CHECKING:
    from byteatlas.meta.zom import Model

MOST_BYTES = 256 << 20
"""A document larger than this is no model."""

MODEL_MEMBERS = frozenset(
    {
        "attributes", "chunk_grid", "chunk_key_encoding", "chunks", "codecs", "compressor", "data_type",
        "dimension_names", "dimension_separator", "dtype", "fill_value", "filters", "node_type", "order", "shape",
        "storage_transformers", "zarr_format",
    }
)  # fmt: skip
"""What documents of nodes may hold, in version 2 or 3."""

format_option = click.option(
    "--zarr-format", type=click.Choice(["2", "3"]), help="Convert to this version.  [default: as it is]"
)


@click.group(no_args_is_help=True)
def model() -> None:
    """Object models (ZEP 6): the structure of a hierarchy as one JSON document, without its data.

    X is a store, a map, an archive, a model's JSON file, consolidated metadata, or - for standard input.

    \b
    Example:
      byteatlas model dump all.parquet -o model.json
      byteatlas model create model.json new.zarr
      byteatlas model diff all.parquet new.zarr
    """


@model.command(no_args_is_help=True)
@click.argument("source", metavar="X")
@click.option("-o", "--output", metavar="FILE", default="-", help="Default: standard output.")
@click.option("--form", type=click.Choice(["nested", "flat", "consolidated"]), default="nested", show_default=True)
@click.option("--depth", type=click.IntRange(0), help="Levels of members to go down.")
@format_option
@storage_option
def dump(
    source: str,
    output: str,
    form: str,
    depth: int | None,
    zarr_format: str | None,
    access: Access,
) -> None:
    """Write the model of X: nested, flat (by path) or as consolidated metadata.

    \b
    Example:
      byteatlas model dump all.parquet --zarr-format 3 -o model.json
    """
    from byteatlas.meta import zom
    from byteatlas.meta.json_text import json_text

    check_no_other(output)
    value = read(source, access, depth)
    number = _number(zarr_format)
    if number is not None:
        value = zom.convert(value, number)
    if form == "flat":
        document: Any = {"/" + path: zom.node_json(node) for path, node in zom.from_model(value).items()}
    else:
        document = zom.to_json(value) if form == "nested" else zom.consolidate(value)
    text = json_text(document, indent=1) + "\n"
    if output == "-":
        click.echo(text, nl=False)
        return
    from byteatlas.io.output import new_file

    with new_file(output, access.storage_options) as sink:
        sink.write(text.encode())


def check_no_other(output: str) -> None:
    """Raise `Conflict` when a model would take the place of anything but a model."""
    from pathlib import Path

    from byteatlas.io.local import local_path
    from byteatlas.store.documents import load_object

    path = local_path(output)
    if output == "-" or path is None or not os.path.lexists(path):
        return
    try:
        data = Path(path).read_bytes() if Path(path).stat().st_size <= MOST_BYTES else b"?"
        document = load_object(data, output) if data else {"zarr_format": 3}
    except (OSError, InvalidMetadata):
        document = {}
    if not (_is_model(document) or "zarr_consolidated_format" in document or _is_flat(document)) or _is_node(output):
        raise Conflict([f"{output} is there and is no model: it is not replaced"], "write")


def _is_flat(document: Mapping[str, JSON]) -> bool:
    return bool(document) and all(
        key.startswith("/") and isinstance(v, dict) and "zarr_format" in v for key, v in document.items()
    )


@model.command(no_args_is_help=True)
@click.argument("source", metavar="X")
@click.argument("target", metavar="STORE")
@click.option("--group", "path", default="", metavar="PATH", help="Where in the store its root goes.")
@click.option("--overwrite", is_flag=True, help="Remove what is there, chunks included.")
@click.option("--consolidated", is_flag=True, help="Write consolidated metadata too.")
@format_option
@storage_option
def create(
    source: str,
    target: str,
    path: str,
    overwrite: bool,
    consolidated: bool,
    zarr_format: str | None,
    access: Access,
) -> None:
    """Create the groups and (empty) arrays of X's model in STORE, which is what copy can write to.

    \b
    Example:
      byteatlas model create model.json new.zarr --consolidated
    """
    import byteatlas as ba
    from byteatlas.meta import zom

    value = read(source, access)
    ba.from_model(
        value,
        target,
        path=path,
        zarr_format=_number(zarr_format),
        overwrite=overwrite,
        consolidated=consolidated,
        access=access,
    )
    click.echo(f"created {len(zom.from_model(value))} nodes in {target}")


@model.command(no_args_is_help=True, epilog="Exit status: 0 valid, 1 not.")
@click.argument("source", metavar="X")
@click.option("--zarr-format", type=click.Choice(["2", "3"]), help="The version it must be of.")
@json_option
@storage_option
def validate(source: str, zarr_format: str | None, as_json: bool, access: Access) -> int:
    """Check a model's JSON (or the metadata of anything that opens) against the schema and the specification.

    Of a store, consolidated metadata are compared with the nodes' own documents too.
    """
    from byteatlas.errors import Unsupported
    from byteatlas.meta import zom
    from byteatlas.meta.zom.schema import violations

    document = _document(source)
    if document is None or not _is_model(document) or _is_node(source):
        document = zom.to_json(read(source, access))
    found = violations(document, _number(zarr_format))
    if not found:
        try:
            zom.from_json(document)
        except (InvalidMetadata, Unsupported) as error:
            found = [str(error)]
    found += [f"consolidated metadata: {line}" for line in _stale(source, access)]
    if as_json:
        print_json(found)
    for line in found if not as_json else ():
        click.echo(line)
    return 1 if found else 0


@model.command(no_args_is_help=True, epilog="Exit status: 0 the same structure, 1 another.")
@click.argument("first", metavar="X")
@click.argument("second", metavar="Y")
@click.option("--only", multiple=True, metavar="MEMBER", help="Compare these members of nodes only: shape, codecs ...")
@click.option("--without", multiple=True, metavar="MEMBER", help="Leave these out: attributes, fill_value ...")
@json_option
@storage_option
def diff(
    first: str,
    second: str,
    only: tuple[str, ...],
    without: tuple[str, ...],
    as_json: bool,
    access: Access,
) -> int:
    """Compare the structure of X and Y, one line for each place where they differ."""
    from byteatlas.meta import zom

    one, two = read(first, access), read(second, access)
    _check_members((*only, *without), (*zom.from_model(one).values(), *zom.from_model(two).values()))
    found = zom.diff(one, two, include=only or None, exclude=without)
    if as_json:
        print_json(found)
    for line in found if not as_json else ():
        click.echo(line)
    return 1 if found else 0


def _check_members(names: tuple[str, ...], nodes: tuple[Any, ...]) -> None:
    """Raise `BadRequest` for the name of a member that no version of Zarr has, nor one of these nodes."""
    from byteatlas.errors import unknown_text
    from byteatlas.meta import zom

    if names:
        known = MODEL_MEMBERS | {name for node in nodes for name in zom.node_json(node)}
        for name in names:
            if name not in known:
                raise BadRequest(unknown_text("member of nodes", name, sorted(known)))


@model.command()
@click.argument("version", type=click.Choice(["2", "3"]))
def schema(version: str) -> None:
    """Print the JSON Schema of models of one version of Zarr."""
    from byteatlas.meta.zom.schema import schema as document

    print_json(document(2 if version == "2" else 3))


def read(source: str, access: Access, depth: int | None = None) -> Model:
    """The model in a JSON document, or of whatever opens under this name."""
    import byteatlas as ba
    from byteatlas.meta import zom

    document = _document(source)
    if document is None:
        return ba.to_model(source, depth=depth, access=access)
    if "zarr_consolidated_format" in document or "consolidated_metadata" in document:
        return zom.from_consolidated(document, source)
    if _is_model(document) and not _is_node(source):
        return zom.from_json(document, "")
    if source == "-":
        raise BadRequest("standard input holds no model")
    return ba.to_model(source, depth=depth, access=access)


def _stale(source: str, access: Access) -> list[str]:
    """Where a store's consolidated metadata differ from its nodes' documents (nothing for anything else)."""
    from byteatlas.array.models import model_of
    from byteatlas.array.stored import open_store
    from byteatlas.io.kind import kind_of
    from byteatlas.meta import zom

    if _document(source) is not None or kind_of(source, access) != "zarr":
        return []
    try:
        copied = open_store(source, access=access, consolidated=True)
    except NotFound:
        return []
    return zom.diff(model_of(copied), model_of(open_store(source, access=access, consolidated=False)))


def _is_model(document: Mapping[str, JSON]) -> bool:
    return document.get("zarr_format") in (2, 3)


def _is_node(source: str) -> bool:
    """Whether this is a node's own document, which does not say what its members are."""
    from byteatlas.io.kind import METADATA_NAMES

    return source.rstrip("/").rpartition("/")[2] in METADATA_NAMES


def _document(source: str) -> dict[str, JSON] | None:
    """The JSON object in a local file (or standard input); None for anything else."""
    from pathlib import Path

    from byteatlas.io.local import local_path
    from byteatlas.store.documents import load_object

    if source == "-":
        return load_object(sys.stdin.buffer.read(MOST_BYTES), "standard input")
    path = local_path(source)
    if path is None or (Path(path).suffix not in (".json", ".zmetadata") and Path(path).name != ".zmetadata"):
        return None
    if not Path(path).exists():
        raise NotFound(f"{source} does not exist")
    if Path(path).stat().st_size > MOST_BYTES:
        return None
    try:
        return load_object(Path(path).read_bytes(), source)
    except InvalidMetadata:
        return None  # a map in another form of JSON, or no JSON: `open` knows


def _number(choice: str | None) -> Literal[2, 3] | None:
    return None if choice is None else 2 if choice == "2" else 3
