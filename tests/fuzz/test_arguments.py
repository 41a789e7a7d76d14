"""What callers may hand in by mistake: a value, or an error of ours in one clear line, for every public argument."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fixtures.netcdf3.make_netcdf3 import FILES
from tests.fuzz.arguments import EVERY, OPTIONS, call_faults, calls, fault, option_faults, used

import byteatlas as ba
from byteatlas.errors import BadRequest

NAMES = tuple(calls(Path(), ""))


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)  # names such as ``zsdt`` are paths, too
    path = tmp_path / "a.nc"
    path.write_bytes(min((make() for make in FILES.values()), key=len))
    return str(path)


def test_every_verb_is_here() -> None:
    verbs = {name for name in ba.__all__ if name.islower()}
    assert verbs == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_verbs(name: str, file: str, tmp_path: Path) -> None:
    call = calls(tmp_path, file)[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what is read; it is not what is looked at here
        assert fault(partial(call[0], **call[1]())) is None
        assert dict(call_faults(name, call, EVERY)) == {}


@pytest.mark.parametrize("kind", OPTIONS, ids=lambda kind: kind.__name__)
def test_options(kind: type[Any], file: str, tmp_path: Path) -> None:
    use = used(kind, file, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert fault(partial(use, kind(**OPTIONS[kind]))) is None
        assert dict(option_faults(kind, use, EVERY)) == {}


def test_the_line_names_the_argument_and_what_it_may_be(file: str) -> None:
    def said(act: Any, **arguments: Any) -> str:
        with pytest.raises(BadRequest) as caught:
            act(**arguments)
        return str(caught.value)

    assert said(ba.scan, url=file, progress=3) == "progress is int; a function, or None was expected"
    assert said(ba.open, target=file, path=b"") == "path is bytes; text was expected"
    assert said(ba.ScanOptions, inline_below=-1) == "inline_below is -1; a whole number from 0 on was expected"
    assert said(ba.Access, policy=str) == "policy is the class str; Policy, or None was expected"
    assert said(ba.CopyOptions, zarr_format=5) == "zarr_format is 5; known: 2, 3"
    assert said(ba.ArrayWriteOptions, empty_chunks="no") == "empty_chunks is str; True or False was expected"
