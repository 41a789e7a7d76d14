"""``byteatlas info``: what is in a map, an archive or a store, and where its bytes lie."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import click

from byteatlas.cli.common import count_text, json_option, print_json, size_text, storage_option
from byteatlas.cli.tree import Branch, show
from byteatlas.describe import ArrayFacts, GroupFacts, describe
from byteatlas.errors import BadRequest
from byteatlas.io.access import Access
from byteatlas.manifest.model import ReportItem, VirtualGroup, VirtualNode
from byteatlas.types import JSON


@click.command(no_args_is_help=True)
@click.argument("target", metavar="X")
@click.option("--header", is_flag=True, help="Show names, types and attributes as ncdump -h does (CDL).")
@click.option("--attrs", is_flag=True, help="Show attributes, too.")
@click.option("--tree", is_flag=True, help="Show GRIB files as a tree as well, in place of a table of their fields.")
@click.option("--group", "path", default="", metavar="PATH", help="Only what is below this group, or this array.")
@storage_option
@json_option
def info(target: str, header: bool, attrs: bool, tree: bool, path: str, access: Access, as_json: bool) -> None:
    """Show a reference map, an archive file or a Zarr store as a tree: groups, arrays, chunks, codecs, bytes.

    Of GRIB files, and maps of them, the fields are shown as a table with a row for each variable.

    \b
    Example:
      byteatlas info all.parquet
      byteatlas info data/ocean_2024-01.nc --attrs
      byteatlas info data/ocean_2024-01.nc --header
      byteatlas info all.parquet --json | jq '.arrays[].stored_bytes'
    """
    import byteatlas as ba
    from byteatlas.io.kind import kind_of

    kind = kind_of(target, access)
    report: tuple[ReportItem, ...] = ()
    node: VirtualNode | str = target
    if kind == "zarr":
        facts = describe(ba.open(target, path=path, access=access), path.strip("/"))
    else:
        node = (
            ba.scan(target, on_refusal="ignore", access=access) if kind == "archive" else ba.load(target, access=access)
        )
        if isinstance(node, VirtualGroup):
            report = tuple(item for item in node.report if item.status == "refused")
            facts = describe(node[path], path.strip("/"))
        elif path.strip("/"):
            raise BadRequest(f"{target}: the root is an array")
        else:
            facts = describe(node)
    if as_json:
        print_json({"target": target, "kind": kind, **facts.document(), "refused": _refusals(report)})
        return
    if header:
        from byteatlas.cli.tables.header import header as header_lines

        click.echo("\n".join(header_lines(_stem(target), facts)))
        return
    if _is_grib(facts) and not (attrs or tree or path.strip("/")):
        click.echo(f"{click.style(target, bold=True)} ({kind})")
        from byteatlas.cli.tables.fields import field_table

        click.echo("\n".join(field_table(facts, ba.open(node, access=access))))
    else:
        show(_tree(f"{target}", kind, facts, attrs=attrs))
    click.echo(_summary(facts))
    for reason, n in Counter(item.reason for item in report).most_common():
        first = next(item for item in report if item.reason == reason)
        more = f" (and {n - 1} more)" if n > 1 else ""
        click.echo(f"{click.style('refused', fg='yellow')} {reason} x {n}: {first.path}: {first.detail}{more}")


def _stem(target: str) -> str:
    """A file's name without folders and its last suffix."""
    name = target.rstrip("/").rpartition("/")[2]
    return name.rpartition(".")[0] or name


def _is_grib(facts: GroupFacts) -> bool:
    """Whether there are fields of GRIB messages among the arrays."""
    return any(isinstance(node, ArrayFacts) and "GRIB_typeOfLevel" in node.attributes for _, node in facts.members)


def _refusals(report: tuple[ReportItem, ...]) -> JSON:
    return [{"path": i.path, "reason": i.reason, "detail": i.detail, "locators": list(i.locators)} for i in report]


def _tree(title: str, kind: str, facts: GroupFacts, *, attrs: bool) -> Branch:
    root = Branch((((title, "bold"), (f" ({kind})", "dim")),))
    branches: dict[str, Branch] = {"": root}
    if attrs:
        _attributes(root, facts.attributes)
    for path, node in facts.members:
        parent, _, name = path.rpartition("/")
        if isinstance(node, GroupFacts):
            branches[path] = branches[parent].add(((f"{name}/", "bold blue"),))
        else:
            first = ((name or "(root array)", "bold"), ("  ", ""), (node.dtype, "cyan"), (f" {node.shape_text}", ""))
            branches[path] = branches[parent].add(
                (*first, (_meaning(node.attributes), "italic")),
                ((_layout(node), "dim"),),
                ((_place(node, title), "dim"),),
            )
        if attrs:
            _attributes(branches[path], node.attributes)
    return root


def _attributes(branch: Branch, attributes: Mapping[str, JSON]) -> None:
    for name, value in attributes.items():
        text = str(value)
        branch.add(((f"{name} = {text if len(text) <= 90 else text[:87] + '...'}", "green"),))


def _meaning(attributes: Mapping[str, JSON]) -> str:
    """What the CF conventions say about a variable (CF 3.1 to 3.3): its name in words, and its units."""
    name = next((n for key in ("long_name", "standard_name") if isinstance(n := attributes.get(key), str)), "")
    units = attributes.get("units")
    words = [name if len(name) <= 60 else f"{name[:57]}..."] if name else []
    if isinstance(units, str) and units:
        words.append(f"[{units}]")
    return "".join(f"  {word}" for word in words)


def _layout(array: ArrayFacts) -> str:
    fill = "" if array.fill == "none" else f", fill {array.fill}"
    encodings = f", {array.encodings} encodings" if array.encodings > 1 else ""
    chunks = f" in chunks of {array.chunks_text}" if array.shape else ""
    return f"{size_text(array.nbytes)}{chunks}, {array.codecs or 'uncompressed'}{fill}{encodings}"


def _place(array: ArrayFacts, target: str) -> str:
    """How many chunks, how many bytes, and where; the file is named when it is not the one that was asked about."""
    if array.stored is None:
        return "chunks are keys of this store"
    parts = [count_text(array.stored.present, "chunk")]
    if array.stored.missing:
        parts.append(f"{array.stored.missing:,} missing")
    if array.stored.inline:
        parts.append(f"{array.stored.inline:,} inline")
    if array.stored.bytes:
        ratio = array.nbytes / array.stored.bytes
        smaller = f" ({ratio:.1f} times smaller)" if ratio >= 1.05 else ""
        parts.append(f"{size_text(array.stored.bytes)} stored{smaller}")
    places = array.stored.sources
    if len(places) == 1:
        where = "" if places[0].url == target else f" of {places[0].url}"
        parts.append(f"bytes {places[0].begin:,} to {places[0].end:,}{where}")
    elif places:
        parts.append(f"in {len(places):,} files, {places[0].url} to {places[-1].url}")
    return ", ".join(parts)


def _summary(facts: GroupFacts) -> str:
    arrays = [node for _, node in facts.members if isinstance(node, ArrayFacts)]
    groups = len(facts.members) - len(arrays)
    text = f"{count_text(groups, 'group')}, {count_text(len(arrays), 'array')}"
    stored = [a.stored for a in arrays if a.stored is not None]
    decoded = sum(a.nbytes for a in arrays)
    if not stored:
        return f"{text}, {size_text(decoded)} decoded"
    files = {place.url for s in stored for place in s.sources}
    chunks = sum(s.present for s in stored)
    return (
        f"{text}, {count_text(chunks, 'chunk')} in {count_text(len(files), 'file')}: "
        f"{size_text(sum(s.bytes for s in stored))} stored, {size_text(decoded)} decoded"
    )
