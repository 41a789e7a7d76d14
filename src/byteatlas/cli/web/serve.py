"""``byteatlas serve``: maps, archives and stores over HTTP."""

from __future__ import annotations

from typing import Literal

import click

from byteatlas.cli.common import Size, count_text, json_option, print_json, storage_option
from byteatlas.io.access import Access


@click.command(no_args_is_help=True)
@click.argument("targets", metavar="MAP...", nargs=-1, required=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0: any that is free.")
@click.option("--name", "names", multiple=True, help="Name of a target, in their order; default: from its URL.")
@click.option("--cors", "origins", multiple=True, metavar="ORIGIN", help="Pages that may read it; '*': all.")
@click.option("--name-sources", "named", multiple=True, metavar="PREFIX", help="Tell clients of sources below this.")
@click.option("--redirect", is_flag=True, help="Send clients to public web servers where these have the bytes as such.")
@click.option("--filters", is_flag=True, help="Pass on shuffled chunks in v2; older versions of GDAL cannot read them.")
@click.option(
    "--compression", type=click.Choice(["zstd", "lz4"]), default="zstd", show_default=True, help="lz4: faster, larger."
)
@click.option("--max-age", type=click.IntRange(0), default=60, show_default=True, help="Seconds that answers are kept.")
@click.option("--cache", type=Size(), default="64MiB", show_default=True, help="Encoded chunks that are kept.")
@click.option("--threads", type=click.IntRange(1, 256), default=8, show_default=True, help="Threads that decode.")
@click.option("--most-requests", type=click.IntRange(1), default=2048, show_default=True, help="At once.")
@click.option(
    "--timeout", type=click.FloatRange(min=0.1), default=60.0, show_default=True, help="Seconds for an answer."
)
@storage_option
@json_option
def serve(
    targets: tuple[str, ...],
    host: str,
    port: int,
    names: tuple[str, ...],
    origins: tuple[str, ...],
    named: tuple[str, ...],
    redirect: bool,
    filters: bool,
    compression: Literal["zstd", "lz4"],
    max_age: int,
    cache: int | None,
    threads: int,
    most_requests: int,
    timeout: float,
    access: Access,
    as_json: bool,
) -> None:
    """Serve reference maps, archive files and Zarr stores over HTTP, as Zarr versions 2 and 3 side by side.

    Any Zarr reader opens http://HOST:PORT/NAME/v2 or /NAME/v3; http://HOST:PORT/ is a page for people. Nothing can be
    written. It listens on this machine alone unless --host says otherwise.

    \b
    Example:
      byteatlas serve all.parquet
      byteatlas serve maps/*.json data/new.nc --port 9000
      byteatlas serve all.parquet --host 0.0.0.0 --cors '*'
    """
    from byteatlas.io.policy import Policy
    from byteatlas.serving import ServeOptions, app
    from byteatlas.serving.options import LOOPBACK_HOSTS, LOOPBACK_ORIGINS
    from byteatlas.serving.running import is_loopback, listen, run

    if len(names) > len(targets):
        raise click.UsageError(f"{count_text(len(names), 'name')} for {count_text(len(targets), 'target')}")
    here = is_loopback(host)
    options = ServeOptions(
        most_requests=most_requests,
        most_per_client=min(most_requests, ServeOptions().most_per_client),
        cache_bytes=cache or 0,
        threads=threads,
        timeout=timeout,
        max_age=max_age,
        compression=compression,
        redirect=redirect,
        filters=filters,
        naming=Policy(allow=named) if named else None,
        origins=origins or (LOOPBACK_ORIGINS if here else ("*",)),
        hosts=LOOPBACK_HOSTS if here else None,
    )
    application = app(_named(targets, names), options=options, access=access)
    listening = listen(host, port)
    if not here:
        warning = f"{host} can be reached from other machines: everybody there can read what is served"
        click.echo(f"{click.style('warning:', fg='yellow', bold=True)} {warning}", err=True)
    published = list(application.library.published)
    if as_json:
        print_json({"url": listening.url, "names": published})
    for name in () if as_json else published:
        click.echo(f"serving {click.style(name, bold=True)} at {listening.url}{name}/ (Zarr: v2/, v3/)")
    run(application, listening)


def _named(targets: tuple[str, ...], names: tuple[str, ...]) -> dict[str, str]:
    from byteatlas.serving.naming import distinct, short_name

    wanted = [*names, *map(short_name, targets[len(names) :])]
    return dict(zip(distinct(wanted), targets, strict=True))
