"""All that callers may hand in by mistake, tried at once: for ``python -m tests.fuzz.run``."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn
from unittest import mock

import click
from fixtures.netcdf3.make_netcdf3 import FILES
from tests.fuzz import arguments, command_lines, methods

Found = Iterator[tuple[str, str]]


def smallest_file(folder: Path) -> str:
    """A small archive file."""
    path = folder / "a.nc"
    path.write_bytes(min((make() for make in FILES.values()), key=len))
    return str(path)


def _stopped(*_: Any, **__: Any) -> NoReturn:
    raise click.exceptions.Exit(0)


def _arguments(folder: Path) -> Found:
    file = smallest_file(folder)
    for name, call in arguments.calls(folder, file).items():
        yield from arguments.call_faults(name, call)
    for kind in arguments.OPTIONS:
        yield from arguments.option_faults(kind, arguments.used(kind, file, folder))


def _methods(folder: Path) -> Found:
    for name, call in methods.calls(folder).items():
        yield from methods.faults(name, call)
    for place in methods.PLACES:
        yield from methods.storage_faults(place)


def _command_lines(folder: Path) -> Found:
    command_lines.make_inputs(folder)
    with (
        mock.patch("byteatlas.serving.running.run", lambda _, listening: listening.socket.close()),
        mock.patch("byteatlas.demo.run.run_demo", _stopped),
    ):
        for name in command_lines.SOUND:
            yield from command_lines.faults(name, folder)


def _quietly(found: Callable[[Path], Found]) -> Callable[[Path], list[tuple[str, str]]]:
    def all_of(folder: Path) -> list[tuple[str, str]]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return list(found(folder))

    return all_of


FOUND: Mapping[str, Callable[[Path], list[tuple[str, str]]]] = {
    "arguments": _quietly(_arguments),
    "methods": _quietly(_methods),
    "command-lines": _quietly(_command_lines),
}
"""By name: what came out that should not have, tried in a folder that is the current one."""
