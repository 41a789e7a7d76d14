"""Sound command lines of every command, and what people may write in the place of each option and argument."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import h5py
import numpy as np
from tests.fuzz import arguments

import byteatlas as ba
from byteatlas.cli.app import cli, run

NONSENSE = "nope"
"""What hardly any option takes: those that do are in `FREE`."""
WRONG = (
    NONSENSE, "", " ", "-1", "0", "3", "1.5", "nan", "1e400", "9" * 30, "a=b", "=", "a=", "=b", "x:y", "1,2",
    "1..2", "{", "[3]", '{"a": 3}', '{"s3://b/": 3}', "..", "../../x", "s3://", "http://[", "file://x", "time",
    "time=", "*", "é", "\udcff", "\n", "\x1b[31m", "a" * 5000,
)  # fmt: skip
SOUND: Mapping[str, str] = {
    "scan": "a.nc -o {new}", "combine": "a.json -o {new}.json --concat time", "info": "a.json", "verify": "a.nc",
    "check": "a.json", "copy": "a.json {new}.zarr", "model create": "m.json {new}.zarr", "model diff": "a.json a.json",
    "model dump": "a.json", "model schema": "3", "model validate": "m.json", "convert": "a.json {new}.json",
    "rename": "a.json {new}.json --prefix /=/x/", "inline": "a.json {new}.json", "deinline": "a.json {new}.json",
    "consolidate": "a.json {new}.json", "select": "a.json {new}.json time=2001-01-02..2001-01-03",
    "split": "a.json {new} --by array",
    "append": "a.json a.nc --concat time", "diff": "a.json a.json", "stats": "a.json", "report": "a.json -o {new}.html",
    "stac": "a.json --start 2001-01-01T00:00:00Z --bbox 0 0 1 1", "serve": "a.json --port 0", "doctor": "a.json",
    "demo": "{new}",
}  # fmt: skip
"""For each command the rest of a line that works."""
DISABLED = frozenset({("scan", "--dask"), ("combine", "--dask")})
"""What goes to a cluster, and waits for it."""


def commands() -> dict[str, click.Command]:
    """Every command by its words, those of groups too."""

    def below(command: click.Command, words: str) -> Iterator[tuple[str, click.Command]]:
        if not isinstance(command, click.Group):
            yield words, command
            return
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from below(found, f"{words} {name}".strip())

    return dict(below(cli, ""))


def make_inputs(folder: Path) -> None:
    """The files that `SOUND` names."""
    with h5py.File(folder / "a.nc", "w") as f:
        f["time"] = np.arange(6)
        f["time"].attrs["units"] = "days since 2001-01-01"
        f["time"].make_scale("time")
        f.create_dataset("air", data=np.arange(60.0).reshape(6, 10), chunks=(2, 10))
        f["air"].dims[0].attach_scale(f["time"])
    ba.write(ba.scan(str(folder / "a.nc")), str(folder / "a.json"))
    assert run(["model", "dump", str(folder / "a.json"), "-o", str(folder / "m.json")]) == 0


def told(line: list[str]) -> tuple[int, str]:
    """A command's status and what it said on standard error."""
    out, error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        status = run(line)
    return status, error.getvalue()


def fault(line: list[str]) -> str | None:
    """What came out that should not have: a traceback, or an error that is not told in one line."""
    try:
        status, said = told(line)
    except BaseException as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    lines = said.splitlines()
    if "Traceback" in said or " object at 0x" in said or "<class" in said:
        return f"unclear: {said[:200]!r}"
    if status in (0, 1):
        return None if not any(line.startswith("error: ") for line in lines) else f"status {status}: {said[:200]!r}"
    if status not in (2, 3, 4, 5) or not lines or not lines[-1].startswith("error: ") or len(lines[-1]) < 15:
        return f"status {status}: {said[:200]!r}"
    return None if sum(line.startswith("error: ") for line in lines) == 1 else f"several errors: {said[:200]!r}"


def sound(name: str, folder: Path) -> list[str]:
    """A line that works; what it writes has a name of its own."""
    number = len(list(folder.iterdir()))
    return [word.format(new=f"new{number}") for word in SOUND[name].split()]


def options_of(command: click.Command) -> list[click.Option]:
    """Its options that take something."""
    return [p for p in command.params if isinstance(p, click.Option) and not p.is_flag]


def faults(name: str, folder: Path, every: int = 1) -> Iterator[tuple[str, str]]:
    """(what is wrong, what came out) for a command, in a folder that is the current one."""
    for option in options_of(commands()[name]):
        opt = option.opts[0]
        for value in () if (name, opt) in DISABLED else some(name + opt, every):
            wrong = [opt, *[value] * option.nargs]
            if found := fault([*name.split(), *sound(name, folder), *wrong]):
                yield f"{name} {opt} {value[:40]!r}", found
    for place in places_of(name):
        for value in some(f"{name}{place}", every):
            line = sound(name, folder)
            line[place] = value
            if found := fault([*name.split(), *line]):
                yield f"{name} argument {place + 1}: {value[:40]!r}", found


def some(name: str, every: int) -> list[str]:
    """One in so many of the values, others for each name and the same in each run."""
    return [value for value, _ in arguments.some(dict.fromkeys(WRONG), name, every)]


def places_of(name: str) -> range:
    """Where a line has its arguments: before the first option."""
    words = SOUND[name].split()
    return range(next((i for i, word in enumerate(words) if word.startswith("-")), len(words)))


def takers(name: str, folder: Path, value: str = NONSENSE) -> set[str]:
    """The options with which a command does what it is for, whatever text they are given."""
    return {
        option.opts[0]
        for i, option in enumerate(options_of(commands()[name]))
        if (name, option.opts[0]) not in DISABLED
        and told([*name.split(), *sound(name, folder), option.opts[0], *[f"{value}{i}"] * option.nargs])[0] == 0
    }


FREE: Mapping[str, frozenset[str]] = {
    "scan": frozenset({"-o"}), "model create": frozenset({"--group"}), "model dump": frozenset({"-o"}),
    "deinline": frozenset({"--side-file"}), "report": frozenset({"--title", "--concat"}),
    "stac": frozenset({"-o", "--href", "--id"}), "serve": frozenset({"--name", "--cors", "--name-sources"}),
}  # fmt: skip
"""Options that any text is right for: names of what is written, titles, origins. A new one is looked at before it is
listed here."""
