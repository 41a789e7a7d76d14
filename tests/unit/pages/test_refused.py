"""What pages and quick looks refuse, each with its class and its words."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from tests.documents import zarray
from tests.serving import get

import byteatlas as ba
from byteatlas.errors import BadRequest, MissingExtra, NotFound
from byteatlas.pages.cells import _parts
from byteatlas.pages.looks import quick_look
from byteatlas.pages.rendering import asset, environment
from byteatlas.serving import app


def cube(shape: list[int], chunks: list[int]) -> ba.Group:
    """Zeros that nobody wrote, which every server may show."""
    return ba.open_group({".zgroup": {"zarr_format": 2}, "x/.zarray": {**zarray(shape, chunks), "fill_value": 0}})


@pytest.mark.parametrize("at", [[], [1], [1, 2, 3]])
def test_an_index_for_each_leading_axis(at: list[int]) -> None:
    root = cube([2, 3, 4, 5], [1, 1, 4, 5])
    with pytest.raises(BadRequest) as refused:
        quick_look(root, "x", at)
    assert str(refused.value) == "at has an index for each of 2 leading axes"


@pytest.mark.parametrize("at", [[2, 0], [0, 3], [-1, 0], [0, -1]])
def test_indices_outside_of_the_array(at: list[int]) -> None:
    root = cube([2, 3, 4, 5], [1, 1, 4, 5])
    with pytest.raises(BadRequest) as refused:
        quick_look(root, "x", at)
    assert str(refused.value) == "at is outside of the array"
    assert "image" in quick_look(root, "x", [1, 2])


def test_chunks_too_large_for_a_look() -> None:
    root = cube([64, 64], [64, 64])
    assert "image" in quick_look(root, "x", most_bytes=64 * 64 * 4)
    with pytest.raises(BadRequest) as refused:
        quick_look(root, "x", most_bytes=64 * 64 * 4 - 1)
    assert str(refused.value) == "its chunks are too large for a quick look"
    small = cube([64, 64], [16, 16])
    assert quick_look(small, "x", most_bytes=64 * 64 * 4 - 1)["note"] == "the middle of it"


def test_what_is_no_array() -> None:
    root = cube([2, 2], [2, 2])
    array = root["x"]
    for node, path in ((root, ""), (array, "x"), (array, "y")):
        with pytest.raises(NotFound) as refused:
            quick_look(node, path)
        assert "there is no array of this name" in str(refused.value)
    with pytest.raises(NotFound, match="'y'"):
        quick_look(root, "y")


def test_without_jinja2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtra) as refused:
        environment.__wrapped__()
    assert "byteatlas[report]" in str(refused.value)


@pytest.mark.parametrize("name", ["", "../rendering.py", "page.html", "cards.css"])
def test_files_that_no_page_has(name: str) -> None:
    with pytest.raises(NotFound) as refused:
        asset(name)
    assert str(refused.value).startswith(f"no page has {name}")


def test_texts_that_utf8_cannot_hold() -> None:
    """Names of files and attributes may have halves of surrogate pairs: a page shows them, and can be written."""
    text = "\udcff\ud800"
    references = {".zgroup": {"zarr_format": 2}, ".zattrs": {"title": text, text: text}, "x/.zarray": zarray([2], [2])}
    for page in (ba.report(references), ba.report(references, title=text)):
        assert b"\\udcff\\ud800" in page.encode()
    server = app({"a": ba.load(references)})
    for path in ("/", "/a/", "/a/v2/.zattrs", "/a/v3/zarr.json", "/a/look?array=x"):
        assert get(server, path).status_code == 200, path


def test_values_that_have_no_page() -> None:
    """A notebook then shows the value's own text."""
    other: Any = {1, 2}
    with pytest.raises(NotImplementedError):
        _parts(other)
