"""What people may write on a command line by mistake: a status that is not 0, one line, no traceback."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import click
import pytest
from tests.fuzz.command_lines import FREE, SOUND, commands, faults, make_inputs, sound, takers, told

EVERY = 8
"""One in so many of the values is tried; all of them by ``python -m tests.fuzz.run --only command-lines``."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder deep down, since some of what is written goes to ``..``."""
    folder = tmp_path / "a" / "b" / "c"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    make_inputs(folder)

    def stopped(*_: Any, **__: Any) -> NoReturn:
        raise click.exceptions.Exit(0)

    monkeypatch.setattr("byteatlas.serving.running.run", lambda _, listening: listening.socket.close())
    monkeypatch.setattr("byteatlas.demo.run.run_demo", stopped)
    return folder


def test_every_command_is_here() -> None:
    assert set(commands()) == set(SOUND)


@pytest.mark.parametrize("name", SOUND)
def test_command_lines(name: str, here: Path) -> None:
    assert told([*name.split(), *sound(name, here)])[0] == 0
    assert dict(faults(name, here, EVERY)) == {}
    assert takers(name, here) == FREE.get(name, frozenset())
