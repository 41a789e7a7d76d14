"""Maps in and out: what the commands that read or write one have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, get_args

import click

from byteatlas.cli import common
from byteatlas.errors import BadRequest
from byteatlas.io.access import AbsentParts, Access
from byteatlas.manifest.model import VirtualArray, VirtualGroup, VirtualNode
from byteatlas.manifest.options import Format, MapWriteOptions
from byteatlas.types import JSON

F = TypeVar("F", bound=Callable[..., Any])


def output_options(command: F) -> F:
    """How a map is written: what all commands that write one have in common."""
    options = [
        click.option("--format", "form", type=click.Choice(get_args(Format)), help="Default: by OUT's suffix."),
        click.option("--relative", is_flag=True, help="Write source URLs relative to the map's folder."),
        click.option("--templates", is_flag=True, help="JSON: shorten with templates and generated references."),
        click.option("--record-size", type=click.IntRange(1), default=100_000, show_default=True, help="Parquet rows."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def write_map(node: VirtualNode, out: str, choices: Mapping[str, Any], access: Access) -> None:
    from byteatlas.manifest.references import write_references

    more = {k: choices[k] for k in ("relative", "templates", "record_size", "consolidated") if k in choices}
    write_references(node, out, choices.get("form"), options=MapWriteOptions(**more), access=access)


def load_map(url: str, access: Access, absent_parts: AbsentParts = "raise") -> VirtualNode:
    import byteatlas as ba

    return ba.load(url, access=access, absent_parts=absent_parts)


def load_group(url: str, access: Access) -> VirtualGroup:
    node = load_map(url, access)
    if isinstance(node, VirtualArray):
        raise BadRequest(f"{url} is a single array; a group was expected")
    return node


def said(as_json: bool, out: str, **facts: JSON) -> None:
    if as_json:
        common.print_json({"written": out, **facts})
    else:
        click.echo(f"wrote {out}" + "".join(f", {k} {v}" for k, v in facts.items()))
