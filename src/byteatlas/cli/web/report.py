"""``byteatlas report``: a page about a map, a file or a folder."""

from __future__ import annotations

from pathlib import Path

import click

from byteatlas.cli.common import json_option, print_json, size_text, storage_option
from byteatlas.io.access import Access


@click.command(no_args_is_help=True)
@click.argument("targets", metavar="TARGET...", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    default="report.html",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write.",
)
@click.option("--title", help="Heading of the page; default: the name of the target.")
@click.option("--concat", multiple=True, metavar="DIM", help="Combine the targets along DIM: show plan and result.")
@click.option("--no-looks", is_flag=True, help="Without pictures: no values are read.")
@storage_option
@json_option
def report(
    targets: tuple[str, ...],
    output: Path,
    title: str | None,
    concat: tuple[str, ...],
    no_looks: bool,
    access: Access,
    as_json: bool,
) -> None:
    """Write a page about a reference map, an archive file, a Zarr store or a folder of files.

    The page is one file that needs no network: tree, arrays, pictures, where the bytes lie, what was refused and what
    to do about it, what typical slices cost, how to open it. Its name ends with .html.

    \b
    Example:
      byteatlas report all.parquet
      byteatlas report data/ -o data.html
      byteatlas report maps/*.json --concat time -o plan.html
    """
    import byteatlas as ba
    from byteatlas.io.output import new_file

    if output.suffix.lower() not in (".html", ".htm"):
        raise click.BadParameter(f"{output} does not end with .html", param_hint="--output")
    target = targets[0] if len(targets) == 1 else list(targets)
    if isinstance(target, list) and not concat:
        raise click.UsageError("several targets are combined: give --concat DIM, or the folder that holds them")
    if any(output.absolute() == Path(name).absolute() for name in targets):
        raise click.BadParameter(f"{output} is what the page is about", param_hint="--output")
    page = ba.report(target, title=title, concat=concat, looks=not no_looks, access=access).encode()
    with new_file(str(output)) as file:
        file.write(page)
    if as_json:
        print_json({"output": str(output), "bytes": len(page)})
    else:
        click.echo(f"{click.style(str(output), bold=True)}: {size_text(len(page))}; open it in a browser")
