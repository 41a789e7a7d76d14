"""``byteatlas combine``: many maps (or archives) as one; ``--dry-run`` shows the plan, ``--append`` adds to a map."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from byteatlas.cli import common
from byteatlas.cli.arguments.inputs import files_from_option, files_of
from byteatlas.cli.map_io import (
    KEEP_QUERIES,
    MODE,
    OVERWRITE,
    check_out,
    hint_at_parquet,
    repository_options,
    tell_appended,
    write_map,
)
from byteatlas.combining import (
    ByOrder,
    CombineOptions,
    CoordinateSource,
    Finding,
    FromAttribute,
    FromName,
    FromVariable,
    Plan,
    Values,
)
from byteatlas.combining.coordinates.find import no_dimension
from byteatlas.errors import BadRequest, Conflict, unknown_text
from byteatlas.executors.running import check_executor
from byteatlas.io.access import Access
from byteatlas.types import JSON

if TYPE_CHECKING:
    from byteatlas.api.prepared import PreparedTree

DATE_FIELDS = {"Y": r"\d{4}", "j": r"\d{3}", "y": r"\d{2}", **dict.fromkeys("mdHMS", r"\d{2}")}
COLOURS = {"conflict": "red", "reconciled": "yellow", "note": "dim"}


@click.command(
    epilog="Exit status: 0 combined (or: can be), 3 files that --executor or --dask cannot read, 5 conflicts. "
    "Coordinate sources for --coord: var:PATH, raw:PATH (times as they are), attr:NAME, attr:VARIABLE:NAME, "
    "name:REGEX, date:FORMAT (strptime, found in the name), order, values:A,B,C."
)
@click.argument("inputs", nargs=-1, metavar="REF...")
@files_from_option
@click.option("-o", "--output", metavar="OUT", help="The map to write (.json or .parquet, or icechunk:PATH).")
@click.option("--concat", "-c", multiple=True, metavar="DIM", help="Dimension along which files follow each other.")
@click.option("--coord", multiple=True, metavar="DIM=SOURCE", help="Where coordinate values come from; see below.")
@click.option("--dry-run", is_flag=True, help="Show the plan and every difference; write nothing.")
@click.option(
    "--on-conflict", type=click.Choice(["error", "drop-variable", "drop-file"]), default="error", show_default=True
)
@click.option("--order", type=click.Choice(["coordinate", "given"]), default="coordinate", show_default=True)
@click.option("--duplicates", type=click.Choice(["error", "first", "last"]), default="error", show_default=True)
@click.option("--attributes", type=click.Choice(["common", "first"]), default="common", show_default=True)
@click.option(
    "--trust", multiple=True, metavar="VAR", help="Take this variable from the first file unchecked (* = all)."
)
@click.option("--no-reconcile", is_flag=True, help="Refuse every difference that plain Zarr cannot say.")
@click.option("--units", metavar="UNITS", help="Units of the combined time, such as 'days since 1970-01-01'.")
@click.option(
    "--executor", metavar="KIND[:N]", help="Read files side by side: threads, processes or serial; N workers."
)
@click.option("--dask", metavar="ADDRESS|local", help="Read files on a Dask cluster.")
@click.option("--append", is_flag=True, help="Add to the map OUT, which exists; files that it has are passed over.")
@click.option("--replace", is_flag=True, help="With --append: files with the same coordinates replace older ones.")
@OVERWRITE
@KEEP_QUERIES
@MODE
@common.json_option
@common.storage_option
def combine(
    inputs: Sequence[str],
    files_from: str | None,
    output: str | None,
    concat: Sequence[str],
    coord: Sequence[str],
    dry_run: bool,
    append: bool,
    replace: bool,
    overwrite: bool,
    keep_queries: bool,
    mode: str | None,
    executor: str | None,
    dask: str | None,
    as_json: bool,
    access: Access,
    **choices: Any,
) -> int:
    """Combine reference maps or archives into one map. Nothing is copied but coordinates.

    \b
    Examples:
      byteatlas combine maps/*.json -o all.parquet --concat time
      byteatlas combine maps/*.json --concat time --dry-run
      byteatlas combine new/*.nc -o all.parquet --concat time --append
    """
    import byteatlas as ba

    if output is None and not dry_run:
        raise click.UsageError("say where to write with -o OUT, or --dry-run")
    if replace and not append:
        raise click.UsageError("--replace goes with --append")
    if keep_queries and append:
        raise click.UsageError("--append writes as the map is: --keep-queries is for new maps")
    options = chosen(concat, coord, choices)
    if executor is not None:
        check_executor(executor)
    inputs = [file.url for file in files_of(inputs, files_from, None, access)]
    if output is not None and not append:
        check_out(output, None, access)
        repository_options(output, None, mode)
    if append and not dry_run:
        return appended(inputs, str(output), options, replace, as_json, access)
    if executor is None and dask is None:
        with common.progress("reading", quiet=as_json) as bar:
            prepared = ba.prepare_combine(inputs, options=options, access=access, progress=bar)
    else:
        found = side_by_side(inputs, options, executor, dask, access, quiet=as_json)
        if found is None:
            return 3
        prepared = found
    check_dimensions(prepared)
    if as_json:
        common.print_json(plan_json(prepared.plan))
    elif dry_run:
        show_plan(prepared.plan)
    if prepared.conflicts:
        if dry_run or as_json:
            return 5
        raise Conflict([f.sentence() for f in prepared.conflicts])
    if output is not None and not dry_run:
        how = {"overwrite": overwrite, "keep_queries": keep_queries, "mode": mode}
        write_map(prepared.result(), output, how, access)
        if not as_json:
            show_summary(prepared.plan, output)
    return 0


def check_dimensions(prepared: PreparedTree) -> None:
    """Raise `BadRequest` for names that mean nothing here, typing errors most often: a dimension that no file has, and
    nobody says where its values come from; a coordinate of what is not concatenated; a variable to trust."""
    context = prepared.context
    given = context.options
    for name in given.coords:
        if name not in given.concat:
            raise BadRequest(f"--coord: {unknown_text('dimension to concatenate', name, given.concat)}")
    paths = dict.fromkeys(path for i in context.inputs for path in i.arrays)
    for path in given.trust:
        if path != "*" and path not in paths:
            raise BadRequest(f"--trust: {unknown_text('variable', path, paths)}")
    for dim in context.dims:
        if dim.new and dim.name not in context.options.coords:
            arrays = [a for i in context.inputs for a in i.arrays.values()]
            known = dict.fromkeys(d for a in arrays for d in a.meta.dimension_names or ())
            advice = f"for a new dimension, --coord {dim.name}=order says that files are in order"
            raise BadRequest(f"{no_dimension(dim.name, [d for d in known if d])}; {advice}")


def side_by_side(
    inputs: Sequence[str],
    options: CombineOptions,
    executor: str | None,
    dask: str | None,
    access: Access,
    *,
    quiet: bool,
) -> PreparedTree | None:
    """``--executor`` and ``--dask``: the plan, or None after telling which files cannot be read."""
    from byteatlas.executors.combining import prepare_many

    if dask is not None and executor is not None:
        raise click.UsageError("--dask and --executor exclude each other")
    how = executor if dask is None else f"dask:{dask}"
    with common.progress("reading", quiet=quiet) as bar:
        found = prepare_many(inputs, options, how, access=access, progress=bar)
    for failure in found.failures.values():
        common.console(stderr=True).print(f"[red]{failure.name}:[/] {failure.kind}: {failure.message}")
    return found.prepared


def chosen(concat: Sequence[str], coord: Sequence[str], choices: Mapping[str, Any]) -> CombineOptions:
    """Options from the command line."""
    return CombineOptions(
        concat=tuple(concat),
        coords=dict(source_of(text) for text in coord),
        order=choices["order"],
        duplicates=choices["duplicates"],
        on_conflict=choices["on_conflict"],
        attributes=choices["attributes"],
        reconcile=not choices["no_reconcile"],
        trust=tuple(choices["trust"]),
        units=choices["units"],
    )


def source_of(text: str) -> tuple[str, CoordinateSource]:
    """``DIM=SOURCE`` as a coordinate source. Raises `BadRequest` for what is none."""
    dim, equals, spelled = text.partition("=")
    kind, _, rest = spelled.partition(":")
    if not (dim and equals):
        raise BadRequest(f"--coord {text!r}: expected DIM=SOURCE")
    match kind:
        case "var":
            return dim, FromVariable(rest or None)
        case "raw":
            return dim, FromVariable(rest or None, decode=False)
        case "attr":
            variable, colon, name = rest.rpartition(":")
            return dim, FromAttribute(name, variable if colon else None)
        case "name":
            return dim, FromName(pattern(rest))
        case "date":
            return dim, FromName(date_pattern(rest), rest)
        case "order":
            return dim, ByOrder()
        case "values":
            return dim, Values(tuple(numbers(rest.split(","))))
    raise BadRequest(f"--coord {text!r}: no source {kind!r}; known: var, raw, attr, name, date, order, values")


def pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise BadRequest(f"{text!r} is not a regular expression: {error}") from error


def date_pattern(text: str) -> re.Pattern[str]:
    """The regular expression for a strptime format of numbers.

    >>> date_pattern("%Y%m%d").pattern
    '\\\\d{4}\\\\d{2}\\\\d{2}'
    """
    found = ""
    at = 0
    for match in re.finditer(r"%(.)", text):
        if match[1] not in DATE_FIELDS:
            raise BadRequest(
                f"%{match[1]} cannot be looked for in names; known: {', '.join('%' + f for f in DATE_FIELDS)}"
            )
        found += re.escape(text[at : match.start()]) + DATE_FIELDS[match[1]]
        at = match.end()
    return re.compile(found + re.escape(text[at:]))


def numbers(texts: Sequence[str]) -> list[float | int | str]:
    result: list[float | int | str] = []
    for text in texts:
        try:
            result.append(int(text))
        except ValueError:
            try:
                result.append(float(text))
            except ValueError:
                result.append(text)
    return result


def appended(
    inputs: Sequence[str],
    output: str,
    options: CombineOptions,
    replace: bool,
    as_json: bool,
    access: Access,
) -> int:
    """``--append``."""
    import byteatlas as ba

    done = ba.append(output, inputs, options=options, replace=replace, access=access)
    if as_json:
        common.print_json(asdict(done))
    else:
        tell_appended(output, done)
    hint_at_parquet(output)
    return 0


def plan_json(plan: Plan) -> JSON:
    """A plan as JSON."""
    return {"ok": plan.ok, **asdict(plan)}


def show_plan(plan: Plan, most: int = 12) -> None:
    """The plan as tables: dimensions, variables, differences."""
    from byteatlas.pages.dates import time_text

    out = common.console()
    for dim in plan.dimensions:
        units = f", {dim.units} ({dim.calendar})" if dim.units else ""
        title = f"{dim.name}: {dim.length} from {dim.source}, {dim.direction}{units}"
        out.print(title)
        table = common.table("", "first", "last", "count", "files")
        for i, block in list(enumerate(dim.blocks))[:most]:
            ends = [time_text(value, dim.units, dim.calendar) for value in (block.first, block.last)]
            table.add_row(str(i), *ends, str(block.count), names_text(block.files))
        if len(dim.blocks) > most:
            table.add_row("...", "", "", "", f"{len(dim.blocks) - most} more")
        out.print(table)
    table = common.table("variable", "action", "dimensions", "type", "chunks", "encodings", "written as")
    for v in plan.variables:
        dims = ", ".join(f"{d or '?'}={n}" for d, n in zip(v.dims, v.shape, strict=True))
        table.add_row(
            v.path, v.action, dims, v.dtype, v.chunks, str(v.encodings), "Zarr" if v.plain else "byteatlas v3"
        )
    out.print(table)
    show_findings(plan.findings, out)
    out.print("[green]can be combined[/]" if plan.ok else f"[red]{len(plan.conflicts)} conflicts[/]")


def names_text(names: Sequence[str]) -> str:
    return names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "") if names else ""


def show_findings(findings: Sequence[Finding], out: Any) -> None:
    """Differences, the worst first."""
    from rich.markup import escape

    for level in ("conflict", "reconciled", "note"):
        for f in findings:
            if f.level == level:
                out.print(f"[{COLOURS[level]}]{level}:[/] {escape(f.sentence())}")


def show_summary(plan: Plan, output: str) -> None:
    """What was done, in a few lines."""
    out = common.console()
    loud = [f for f in plan.findings if f.level == "reconciled" or "left out:" in f.detail]
    show_findings(loud, out)
    total = sum(v.references for v in plan.variables)
    kept = len(plan.inputs)
    text = f"{output}: {common.count_text(kept, 'input')}, {common.count_text(len(plan.variables), 'variable')}, "
    out.print(text + common.count_text(total, "reference"))
