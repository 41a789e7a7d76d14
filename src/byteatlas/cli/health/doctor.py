"""``byteatlas doctor``: what is installed, what opens which URLs, and what is missing for a file or map."""

from __future__ import annotations

import platform
import sys
import textwrap
from collections.abc import Iterable

import click

from byteatlas import __version__
from byteatlas.cli.arguments.usage import terminal_width
from byteatlas.cli.common import count_text, json_option, print_json, storage_option
from byteatlas.cli.health.installed import PackageState, packages, version_of
from byteatlas.errors import ByteatlasError
from byteatlas.io.access import Access
from byteatlas.types import JSON
from byteatlas.values import dataclass

MOST_READ = 64
"""Kinds of arrays (by codecs and data type) of which one element is read."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What a file or map needs that is not there.

    Attributes:
        read: kinds of arrays that can be read here.
        troubles: a sentence for each kind that cannot, the first array of it first.
        skipped: kinds that were not tried.
    """

    target: str
    read: int = 0
    troubles: tuple[str, ...] = ()
    skipped: int = 0


@click.command(epilog="Exit status: 0 nothing is missing, 1 something is missing for X.")
@click.argument("targets", metavar="[X...]", nargs=-1)
@storage_option
@json_option
def doctor(targets: tuple[str, ...], access: Access, as_json: bool) -> int:
    """Show versions, extras and what opens URLs; and what is missing for the files or maps X.

    Of each X, one element of each kind of array (data type and codecs) is read.

    \b
    Example:
      byteatlas doctor
      byteatlas doctor all.parquet data/new.nc
    """
    known = packages()
    found = [diagnosis(target, access) for target in targets]
    if as_json:
        print_json(document(known, found))
    else:
        click.echo("\n".join([*lines(known, terminal_width()), *told(found)]))
    return int(any(item.troubles for item in found))


def document(known: list[PackageState], found: list[Diagnosis]) -> JSON:
    """All of it as JSON."""
    return {
        "byteatlas": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": [{"name": p.name, "extra": p.extra, "version": p.found, "ok": p.ok} for p in known],
        "backends": {name: version_of(name) for name in BACKENDS},
        "scanners": sorted(_scanners()),
        "targets": [
            {"target": d.target, "read": d.read, "troubles": list(d.troubles), "skipped": d.skipped} for d in found
        ],
    }


BACKENDS = {"obstore": "s3, gs, az", "s3fs": "s3", "gcsfs": "gs", "adlfs": "az", "aiohttp": "http, https"}
"""Packages that open URLs, and which; obstore is preferred."""


def lines(known: list[PackageState], width: int) -> list[str]:
    """What is installed, for people."""
    found = [f"byteatlas {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"]
    found += _wrapped("python", sys.executable, width)
    found += _wrapped("formats", ", ".join(sorted(_scanners())), width)
    backends = ", ".join(f"{name} ({what})" for name, what in BACKENDS.items() if version_of(name))
    found += _wrapped("URLs", backends, width)
    if not known:
        return [*found, "byteatlas is not installed as a package: its extras are not known"]
    found += _wrapped("packages", ", ".join(p.text for p in known if p.extra is None), width)
    extras: dict[str, list[PackageState]] = {}
    for state in known:
        if state.extra is not None:
            extras.setdefault(state.extra, []).append(state)
    for name, states in extras.items():
        lacking = [state for state in states if not state.ok]
        text = ", ".join(state.text for state in lacking or states)
        found += _wrapped(name, f"missing: {text}" if lacking else text, width)
    short = [name for name, states in extras.items() if not all(state.ok for state in states)]
    if short:
        found.append(f"to install what is missing: pip install 'byteatlas[{','.join(short)}]'")
    return found


def _scanners() -> Iterable[str]:
    from byteatlas.scanning.plugins import installed

    return installed()


def _wrapped(head: str, text: str, width: int) -> list[str]:
    return textwrap.wrap(
        text or "none", max(width, 40), initial_indent=f"  {head:13} ", subsequent_indent=" " * 16,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def told(found: list[Diagnosis]) -> list[str]:
    """Diagnoses for people."""
    texts = []
    for item in found:
        kinds = count_text(item.read, "kind") + " of arrays can be read"
        left = f", {item.skipped:,} were not tried" if item.skipped else ""
        texts.append(f"{item.target}: {kinds if item.read or not item.troubles else 'cannot be read'}{left}")
        texts += [f"  {' '.join(trouble.split())}" for trouble in item.troubles]
    return texts


def diagnosis(target: str, access: Access) -> Diagnosis:
    """Try one element of each kind of array."""
    import byteatlas as ba

    try:
        root = ba.open(target, access=access)
    except ByteatlasError as error:
        return Diagnosis(target, troubles=(str(error),))
    arrays = [("", root)] if isinstance(root, ba.Array) else list(root.walk())
    kinds: dict[str, ba.Array] = {}
    for _, node in arrays:
        if isinstance(node, ba.Array):
            codecs = [codec for encoding in node.meta.encodings for codec in encoding.codecs] or node.meta.codecs
            kinds.setdefault(f"{node.meta.data_type}{[codec.name for codec in codecs]}", node)
    troubles = []
    some = list(kinds.values())[:MOST_READ]
    for array in some:
        try:
            if all(array.shape):
                array[(0,) * array.ndim]
        except ByteatlasError as error:
            troubles.append(str(error))
    return Diagnosis(target, len(some) - len(troubles), tuple(dict.fromkeys(troubles)), len(kinds) - len(some))
