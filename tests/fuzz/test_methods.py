"""What callers may hand to methods by mistake: a value, or an error of ours in one clear line."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.fuzz.arguments import EVERY, fault
from tests.fuzz.methods import PLACES, calls, faults, storage_faults

import byteatlas as ba
from byteatlas.errors import BadRequest, BadSelection, NotFound

NAMES = tuple(calls(Path()))
EVERY_METHOD: dict[Any, set[str]] = {
    ba.Array: {"read", "read_blocks", "read_orthogonal", "read_points", "with_options"},
    ba.Group: {"array", "group", "get"},
    ba.WritableArray: {"append", "resize", "set_orthogonal", "with_options"},
}


@pytest.mark.parametrize("kind", EVERY_METHOD, ids=lambda kind: kind.__name__)
def test_every_method_is_here(kind: Any) -> None:
    """Those of its own that take something."""
    named = {name.partition(".")[2] for name in NAMES if name.startswith(f"{kind.__name__}.")}
    assert named == EVERY_METHOD[kind]
    public = {name for name in vars(kind) if not name.startswith("_") and callable(getattr(kind, name))}
    without = {"arrays", "groups", "tree", "walk", "keys", "values", "items"}
    inherited = {"read", "read_blocks", "read_orthogonal", "read_points"} if kind is ba.WritableArray else set[str]()
    assert public - without - inherited <= named


@pytest.mark.parametrize("name", NAMES)
def test_methods(name: str, tmp_path: Path) -> None:
    call = calls(tmp_path)[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of NumPy, for ragged lists; it is not what is looked at here
        assert fault(partial(call[0], **call[1]())) is None
        assert dict(faults(name, call, EVERY)) == {}


@pytest.mark.parametrize("place", PLACES)
def test_storage_options(place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    assert dict(storage_faults(place, EVERY)) == {}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"client_kwargs": 3}, "storage option client_kwargs is int; a dict whose keys are text, or None was expected"),
        ({"s3://b/": {"key": b"a"}}, "storage option key for s3://b/ is bytes; text, or None was expected"),
        ({"ssl": "no"}, "storage option ssl is str; True, False, a context or a fingerprint, or None was expected"),
    ],
)
def test_the_line_names_the_option(options: Any, words: str) -> None:
    with pytest.raises(BadRequest) as refused:
        ba.Access(options)
    assert str(refused.value) == words


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"endpoint_url": "localhost:9000"},
         "storage option endpoint is 'localhost:9000'; a URL that begins with https:// or http:// was expected"),
        ({"key": "a\n", "secret": "b"}, "storage option access_key_id holds control characters"),
        ({"token": 3}, "storage option session_token is int; text was expected"),
    ],
)  # fmt: skip
def test_what_ends_obstore_in_a_panic(options: Any, words: str) -> None:
    with pytest.raises(BadRequest) as refused:
        ba.open("s3://b/a.nc", access=ba.Access(options, backend="obstore"))
    assert str(refused.value) == words


def test_members_of_virtual_groups(tmp_path: Path) -> None:
    group = ba.load({".zgroup": {"zarr_format": 2}, "g/.zgroup": {"zarr_format": 2}})
    assert isinstance(group, ba.VirtualGroup)
    assert ["g" in group, "" in group, "x" in group, "g/x" in group, 3 in group] == [True, True, False, False, False]
    wrong: Any
    for wrong, words in ((3, "no member 3: names are text"), (None, "no member None: names are text")):
        with pytest.raises(NotFound) as refused:
            group[wrong]
        assert words in str(refused.value)


def test_rows_of_different_lengths() -> None:
    array = ba.create_array({}, "", ba.array_meta([4], "<i4", chunks=[2]))
    for read in (array.read, array.read_orthogonal, array.read_points):
        with pytest.raises(BadSelection, match=r"^an index array has rows of one length, and numbers in them$"):
            read([[0], [1, 2]])
    for block in (slice(None, None, 0), slice("a")):
        with pytest.raises(BadSelection, match=r"^slice\("):
            array.read_blocks(block)
    with pytest.raises(BadRequest, match=r"^values make no array: "):
        array.append([[1], [1, 2]])
