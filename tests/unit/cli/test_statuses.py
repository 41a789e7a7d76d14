"""What the shell sees: an exit status for each kind of error, one line of words, and commands by name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from byteatlas import errors
from byteatlas.cli import app
from byteatlas.cli.overview import COMMANDS
from byteatlas.cli.select import region_of
from byteatlas.errors import BadRequest

ERRORS: list[tuple[errors.ByteatlasError, int]] = [
    (errors.BadRequest("b"), 2),
    (errors.MissingExtra("e", "w"), 2),
    (errors.CorruptFile(1, "c", "u"), 3),
    (errors.CorruptChunk("c"), 3),
    (errors.InvalidMetadata("p", "m"), 3),
    (errors.Unsupported("r", "d"), 3),
    (errors.SourceChanged("u", "its size", 1, 2), 3),
    (errors.NotFound("n"), 4),
    (errors.FetchFailed("u", "t"), 4),
    (errors.Absent("u"), 4),
    (errors.Conflict(["c"]), 5),
]


@pytest.mark.parametrize(("error", "status"), ERRORS, ids=lambda v: type(v).__name__)
def test_errors_of_ours(
    error: errors.ByteatlasError, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.status_of(error) == status
    assert raising(error, monkeypatch) == status
    assert capsys.readouterr().err.startswith("error: ")


def test_an_error_without_a_place_in_the_table() -> None:
    assert app.status_of(errors.ByteatlasError("x")) == 3


def raising(error: BaseException, monkeypatch: pytest.MonkeyPatch, result: Any = None) -> int:
    def main(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(app.cli, "main", main)
    return app.run([])


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (KeyboardInterrupt(), 130, "error: interrupted\n"),
        (click.Abort(), 130, "error: interrupted\n"),
        (click.exceptions.Exit(7), 7, ""),
        (OSError(2, "No such thing", "a.nc"), 4, "error: a.nc: No such thing\n"),
        (OSError("odd"), 4, "error: odd\n"),
        (click.ClickException("two\nlines"), 1, "error: two lines (byteatlas --help)\n"),
    ],
)
def test_errors_of_others(
    error: BaseException,
    status: int,
    text: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert raising(error, monkeypatch) == status
    assert capsys.readouterr().err == text


@pytest.mark.parametrize("error", [BrokenPipeError(), SystemExit(1)])
def test_a_reader_that_goes_away(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stream leads to nothing from then on, so that Python does not complain when it ends."""
    closed: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "dup2", lambda a, b: closed.append((a, b)))
    assert raising(error, monkeypatch) == 141
    ((opened, _),) = closed
    assert os.fstat(opened).st_rdev == Path(os.devnull).stat().st_rdev
    os.close(opened)


@pytest.mark.parametrize(("result", "status"), [(None, 0), (0, 0), (1, 1), ("text", 0)])
def test_results_of_commands(result: Any, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def main(arguments: Any, name: str, standalone_mode: bool) -> Any:
        seen.append((arguments, name, standalone_mode))
        return result

    monkeypatch.setattr(app.cli, "main", main)
    assert app.run(("a", "b")) == status
    assert seen == [(["a", "b"], "byteatlas", False)]
    assert app.run() == status
    assert seen[1][0] is None


def test_warnings_are_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import warnings

    def main(*_: Any, **__: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = app._show_warning
            warnings.warn("two\nlines \x1b[31m", UserWarning, stacklevel=1)

    monkeypatch.setattr(app.cli, "main", main)
    assert app.run([]) == 0
    found = capsys.readouterr().err
    assert found.startswith("warning: two lines ")
    assert "\x1b[31m" not in found


def test_names_of_commands(capsys: pytest.CaptureFixture[str]) -> None:
    context = click.Context(app.cli)
    assert app.cli.list_commands(context) == list(COMMANDS)
    assert app.cli.get_command(context, "nothing") is None
    assert app.run(["combin"]) == 2
    assert "combine" in capsys.readouterr().err
    assert app.run(["--version"]) == 0
    assert app.run(["--nothing"]) == 2
    assert "no option '--nothing'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("lat=30..60", ("lat", slice("30", "60", None))),
        ("lat=30..", ("lat", slice("30", None, None))),
        ("lat=..60", ("lat", slice(None, "60", None))),
        ("name=a=b", ("name", "a=b")),
        ("lat=30", ("lat", "30")),
    ],
)
def test_regions(text: str, wanted: tuple[str, object]) -> None:
    assert region_of(text) == wanted


@pytest.mark.parametrize("text", ["lat", "=30", "lat=", "", "="])
def test_texts_that_are_no_regions(text: str) -> None:
    with pytest.raises(BadRequest) as caught:
        region_of(text)
    assert str(caught.value) == f"{text!r}: expected DIM=FROM..TO or DIM=VALUE"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--cut", "--mask"], "--cut goes without --mask, --keep-cut and --fill with it"),
        (["--keep-cut"], "--cut goes without --mask, --keep-cut and --fill with it"),
        (["--fill", "0"], "--cut goes without --mask, --keep-cut and --fill with it"),
        (["--best", "--horizon", "0"], "--best is --horizon 0: give one of them"),
    ],
)
def test_choices_that_exclude_each_other(words: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["select", "in.json", "out.json", "t=1..2", *words]) == 2
    assert why in capsys.readouterr().err


def test_select_needs_a_region(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["select", "in.json", "out.json"]) == 2
    assert "Missing argument 'DIM=FROM..TO...', or --best or --horizon (" in capsys.readouterr().err


@pytest.mark.parametrize("closed", [1, 2])
@pytest.mark.parametrize("words", [("--help",), ("scan", "--help"), ("info", "none.h5")])
def test_streams_that_are_closed_from_the_start(closed: int, words: tuple[str, ...], tmp_path: Path) -> None:
    """What would be written to them goes nowhere (``>&-``); the status still tells how it went."""
    code = "import os, sys; os.close(int(sys.argv[1])); os.execv(sys.executable, [sys.executable, *sys.argv[2:]])"
    begun = [sys.executable, "-c", code, str(closed), "-m", "byteatlas", *words]
    done = subprocess.run(begun, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == (4 if words[0] == "info" else 0)
    assert "Traceback" not in done.stdout + done.stderr
