"""Which files a command line means: names, patterns, lists of names, folders; and the map for each of them."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import click

from byteatlas.cli.map_io import make_folder
from byteatlas.errors import ByteatlasError, CorruptFile, Unsupported
from byteatlas.io.access import Access
from byteatlas.io.forms import MAP_SUFFIXES
from byteatlas.io.local import absolute, local_path
from byteatlas.values import dataclass, replace

F = TypeVar("F", bound=Callable[..., Any])
WILD = "*?["


@dataclass(frozen=True, slots=True)
class InputFile:
    """One file, and how it was found.

    Attributes:
        root: the folder that was looked through, or a pattern's part before its first wildcard; None for a file that
            was named itself.
        walked: it was found in a folder: it need not be of a format that is known.
    """

    url: str
    root: str | None = None
    walked: bool = False


@dataclass(frozen=True, slots=True)
class MapNames:
    """How maps in a folder are called.

    Attributes:
        form: the suffix: ``json`` or ``parquet``.
        folders: below the folders that the files are in, as these lie below what was looked through.
        suffixes: with the files' own suffixes.
    """

    form: str
    folders: bool = False
    suffixes: bool = False


def files_from_option(command: F) -> F:
    """``--files-from``."""
    return click.option(
        "--files-from",
        metavar="FILE|-",
        help="Read more names from a file, or standard input: one a line, or separated by NUL; no patterns.",
    )(command)


def listed(files_from: str | None) -> list[str]:
    """The names in a file of names. Raises `click.UsageError` when it cannot be read."""
    if files_from is None:
        return []
    try:
        if files_from == "-":
            data = sys.stdin.buffer.read()
        else:
            with open(files_from, "rb") as file:  # noqa: PTH123
                data = file.read()
    except OSError as error:
        raise click.UsageError(f"--files-from {files_from}: {error.strerror or error}") from error
    names = data.split(b"\0") if b"\0" in data else data.splitlines()
    return [os.fsdecode(name) for name in names if name.strip()]


def files_of(names: Sequence[str], files_from: str | None, below: str | None, access: Access) -> list[InputFile]:
    """Every file that is meant, once.

    Args:
        names: names, patterns and (with ``below``) folders.
        files_from: a file of more names.
        below: look below folders, except in this one, where maps are written; None: folders are not looked into.

    Raises `click.UsageError` when there is none, `NotFound` for a pattern of nothing.
    """
    found = [*matched(names, access), *(InputFile(name) for name in listed(files_from))]
    if found and below is not None:
        found = list(walked(found, below, access))
        if not found:
            raise click.UsageError(f"there is no file below {_some(names)}")
    if not found:
        raise click.UsageError("no file is named: give names, patterns, or --files-from FILE")
    return list({file.url: file for file in found}.values())


def matched(names: Sequence[str], access: Access) -> Iterator[InputFile]:
    """Names as they are, and patterns as the files that they stand for. Raises `NotFound` for a pattern of nothing."""
    for name in names:
        if not is_pattern(name):
            yield InputFile(name)
            continue
        start = name[: min(i for mark in WILD if (i := name.find(mark)) >= 0)].rpartition("/")[0]
        for url in _matches(name, access):
            yield InputFile(url) if url == name else InputFile(url, start)


def is_pattern(name: str) -> bool:
    """Whether a name has wildcards; in web addresses question marks and brackets mean something else."""
    if not any(mark in name for mark in WILD):
        return False
    path, _, _ = name.partition("?")
    return "*" in path if name.startswith(("http://", "https://")) else True


def _matches(pattern: str, access: Access) -> list[str]:
    from byteatlas.io.globbing import expanded

    try:
        return expanded(pattern, access.kept_to(pattern).storage_options)
    except ByteatlasError:
        if "*" in pattern:
            raise
        return [pattern]  # names may hold brackets: whoever opens it says what is wrong


def walked(found: Iterable[InputFile], output: str, access: Access) -> Iterator[InputFile]:
    """The files below the folders among what was found; a URL that ends with a slash is a folder."""
    from byteatlas.io.globbing import files_below

    target = absolute(output).rstrip("/")
    for file in found:
        path = local_path(file.url)
        if not (os.path.isdir(path) if path is not None else file.url.endswith("/")):  # noqa: PTH112
            yield file
            continue
        for url in files_below(file.url, access.kept_to(file.url).storage_options):
            if not absolute(url).startswith(f"{target}/"):
                yield InputFile(url, file.url if file.root is None else file.root, walked=True)


def targets_for(files: Sequence[InputFile], output: str, names: MapNames, access: Access) -> dict[str, str]:
    """The map for each file. Usage errors come before any work is done: no map takes the place of another's."""
    if output.endswith(MAP_SUFFIXES):
        if len(files) > 1:
            raise click.UsageError(
                f"{output} is one map, but there are {len(files)} files: give a folder, then combine"
            )
        return {files[0].url: output}
    targets = _named(files, output, names)
    twice = _twice(targets)
    if twice and any(file.walked for file in files):
        files = [f for f in files if not (f.walked and targets[f.url] in twice) or is_known(f.url, access)]
        targets = {file.url: targets[file.url] for file in files}
        twice = _twice(targets)
    if twice:
        same = [source for source, target in targets.items() if target == twice[0]]
        raise click.UsageError(
            f"{_some(same)} would {'both' if len(same) == 2 else 'all'} be written to {twice[0]}: "
            f"{_way_out(same, names)}"
        )
    try:
        make_folder(output)
    except ByteatlasError as error:
        known = ", ".join(MAP_SUFFIXES)
        raise click.UsageError(f"{output} is no folder, and no map's name ({known}): {error}") from error
    return targets


def _named(files: Sequence[InputFile], output: str, names: MapNames) -> dict[str, str]:
    start = output.rstrip("/") or output
    if names.folders:
        files = _with_roots(files)
    found: dict[str, str] = {}
    for file in files:
        folder, _, name = file.url.rstrip("/").rpartition("/")
        stem = name if names.suffixes else name.rpartition(".")[0] or name
        below = "/".join(_parts(folder)[len(_parts(file.root or "")) :]) + "/" if names.folders else ""
        found[file.url] = f"{start}/{below.lstrip('/')}{stem}.{names.form}"
    return found


def _parts(folder: str) -> list[str]:
    return [part for part in absolute(folder or ".").rstrip("/").split("/") if part]


def _with_roots(files: Sequence[InputFile]) -> list[InputFile]:
    """Files that were named themselves lie below the last folder that they have in common."""
    plain = [_parts(f.url.rpartition("/")[0]) for f in files if f.root is None]
    if not plain:
        return list(files)
    low, high = min(plain), max(plain)
    same = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), min(len(low), len(high)))
    return [_below(f, same) if f.root is None else f for f in files]


def _below(file: InputFile, parts: int) -> InputFile:
    folder = absolute(file.url).rpartition("/")[0]
    pieces, seen = folder.split("/"), 0
    for i, piece in enumerate(pieces):
        if seen == parts:
            return replace(file, root="/".join(pieces[:i]) or "/")
        seen += bool(piece)
    return replace(file, root=folder or "/")


def _twice(targets: Mapping[str, str]) -> list[str]:
    return [target for target, n in Counter(targets.values()).items() if n > 1]


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _way_out(same: Sequence[str], names: MapNames) -> str:
    folders = {name.rpartition("/")[0] for name in same}
    if len(folders) < len(same) and not names.suffixes:
        return "--keep-suffixes names maps a.nc.json"
    return "--keep-folders keeps the folders that files are in" if not names.folders else "give another folder for each"


def is_known(url: str, access: Access) -> bool:
    """Whether a scanner knows a file's format. Its first bytes are read."""
    from byteatlas.scanning.driver import recognise
    from byteatlas.scanning.plugins import installed

    try:
        recognise(access.open(absolute(url)), access.pool(), installed())
    except (Unsupported, CorruptFile):
        return False
    except ByteatlasError:
        return True  # scanning it says what is wrong
    return True
