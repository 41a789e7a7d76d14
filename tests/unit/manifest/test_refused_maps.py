"""Maps that are refused, and targets that are not replaced: each with its class, its place and its reason."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.documents import zarray
from tests.maps import array

from byteatlas.errors import BadRequest, Conflict, FetchFailed, InvalidMetadata, NotFound, Unsupported
from byteatlas.io.access import Access
from byteatlas.io.sources.memory import MemorySource
from byteatlas.manifest.json import compressed
from byteatlas.manifest.json.compressed import decompressed
from byteatlas.manifest.json.text.structure import compact_text
from byteatlas.manifest.kinds import sparse
from byteatlas.manifest.model import VirtualArray, VirtualGroup
from byteatlas.manifest.ops.inline import inline
from byteatlas.manifest.options import MapWriteOptions
from byteatlas.manifest.parquet import pages as parquet_pages
from byteatlas.manifest.parquet import read as parquet_read
from byteatlas.manifest.parquet import write as parquet_write
from byteatlas.manifest.references import read_references, write_references
from byteatlas.manifest.reopening import _arrays_again, _manifest_again, place_of
from byteatlas.manifest.targets import check_there
from byteatlas.meta.model import RectilinearGrid
from byteatlas.values import replace

REFS: dict[str, Any] = {".zgroup": '{"zarr_format":2}', "x/.zarray": json.dumps(zarray([8], [4]))}
GROUP = VirtualGroup(arrays={"x": array((8,), (4,))})


def x_of(target: Any, **how: Any) -> VirtualArray:
    node = read_references(target, **how)
    assert isinstance(node, VirtualGroup)
    return node.arrays["x"]


@pytest.mark.parametrize("reference", ["[1]", '["s3://b/a",1]', '["s3://b/a",1,2,3]', "[]"])
def test_what_is_no_reference(reference: str) -> None:
    text = json.dumps(REFS)[:-1] + f', "x/0": {reference}}}'
    with pytest.raises(InvalidMetadata) as refused:
        x_of(text.encode()).manifest.load()
    assert "not a reference" in refused.value.why
    assert refused.value.where.startswith("map")


def test_ranges_that_no_file_has() -> None:
    text = json.dumps(REFS)[:-1] + ', "x/0": ["s3://b/a",-1,2]}'
    with pytest.raises(InvalidMetadata, match=r"map: x/0: impossible byte range -1\+2"):
        x_of(text.encode()).manifest.load()


@pytest.mark.parametrize("numbers", ["9223372036854775808,1", "9223372036854775807,1", "1,x", "1.5,2"])
def test_numbers_of_many_references(numbers: str) -> None:
    """References that are read as columns, many at once."""
    refs = {".zgroup": '{"zarr_format":2}', "x/.zarray": json.dumps(zarray([4000], [4]))}
    rows = ",".join(f'"x/{i}":["s3://b/a",{i},4]' for i in range(999))
    text = f'{json.dumps(refs)[:-1]},{rows},"x/999":["s3://b/a",{numbers}]}}'
    with pytest.raises(InvalidMetadata) as refused:
        x_of(text.encode()).manifest.load()
    assert "x/999" in refused.value.why or "not JSON" in refused.value.why or "x/999" in refused.value.where


@pytest.mark.parametrize(
    ("value", "why"),
    [(object(), "not a reference: <object"), (float("nan"), None), ({1, 2}, "not a reference: {1, 2}")],
)
def test_what_a_dict_may_not_hold(value: object, why: str | None) -> None:
    with pytest.raises(InvalidMetadata) as refused:
        x_of({**REFS, "x/0": value}).manifest.load()
    assert why is None or why in refused.value.why


def test_what_a_dict_holds_becomes_text() -> None:
    found = x_of({**REFS, "x/0": b"\xff" * 16, "x/1": ["s3://b/a", np.int64(5), np.int64(16)]}).manifest.load()
    assert found.inlined == {0: b"\xff" * 16}
    assert (found.offset[1], found.length[1]) == (5, 16)
    assert found.sources[int(found.source[1])].url == "s3://b/a"


def test_a_dict_in_itself() -> None:
    endless: dict[str, Any] = dict(REFS)
    endless["x/.zattrs"] = endless
    with pytest.raises(InvalidMetadata) as refused:
        read_references(endless)
    assert refused.value.where == "map"


def test_the_version_comes_first() -> None:
    for more in ({}, {"x/.zattrs": json.dumps({"long": "a" * 4_000_000})}):  # small texts are read another way
        text = json.dumps({**REFS, **more, "version": 1, "refs": {}}).encode()
        with pytest.raises(InvalidMetadata, match="version is not the first member"):
            read_references(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b'{"a": 1, "a": 2}', "a key occurs twice in one object"),
        (b'{"b": {"a": 1, "a": 2}}', "a key occurs twice in one object"),
        (b"[" * 200_000, "nested too deeply"),
        (b"{", "not JSON"),
    ],
)
def test_text_of_another_layout(text: bytes, why: str) -> None:
    with pytest.raises(InvalidMetadata) as refused:
        compact_text(MemorySource(text, "m.json"), "m.json")
    assert refused.value.where == "m.json"
    assert why in refused.value.why


def test_a_compressed_text_expands_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    import gzip

    monkeypatch.setattr(compressed, "MOST_EXPANDED", 1000)
    assert decompressed(MemorySource(gzip.compress(b"a" * 1000), "m"), "m").size() == 1000
    with pytest.raises(InvalidMetadata) as refused:
        decompressed(MemorySource(gzip.compress(b"a" * 1001), "m"), "m")
    assert (refused.value.where, refused.value.why) == ("m", "expands to more than 1000 bytes")


@pytest.mark.parametrize("name", ["m.json", "m.parquet"])
def test_a_chunk_that_is_not_inline(tmp_path: Path, name: str) -> None:
    write_references(GROUP, tmp_path / name)
    with pytest.raises(NotFound) as refused:
        x_of(tmp_path / name).manifest.inline(1)
    assert refused.value.what == "chunk 1 of 'x' is not inline"


def parquet(folder: Path, rows: int = 2, **whole: Any) -> Path:
    (folder / "x").mkdir(parents=True)
    metadata = {".zgroup": {"zarr_format": 2}, "x/.zarray": zarray([8], [4])}
    (folder / ".zmetadata").write_text(json.dumps({"metadata": metadata, "record_size": 2, **whole}))
    zero = pa.array([0] * rows, pa.int64())
    columns = {"path": ["s3://b/a"] * rows, "offset": zero, "size": zero, "raw": pa.nulls(rows, pa.binary())}
    pq.write_table(pa.table(columns), folder / "x" / "refs.0.parq")
    return folder


def refused_part(folder: Path) -> InvalidMetadata:
    with pytest.raises(InvalidMetadata) as refused:
        x_of(folder).manifest.load()
    assert refused.value.where == f"{folder}/x/refs.0.parq"
    return refused.value


def test_part_files_have_a_bounded_number_of_rows(tmp_path: Path) -> None:
    assert x_of(parquet(tmp_path / "a", 1 << 20)).manifest.load().nchunks == 2
    found = refused_part(parquet(tmp_path / "b", (1 << 20) + 1))
    assert found.why == f"{(1 << 20) + 1} rows, record_size is 2"


def test_part_files_have_rows_for_all_chunks(tmp_path: Path) -> None:
    assert refused_part(parquet(tmp_path / "m", 1)).why == "1 rows where 2 are needed"


def test_part_files_expand_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = parquet(tmp_path / "m")
    monkeypatch.setattr(parquet_pages, "MOST_EXPANDED", 10)
    assert "more than the limit of 10" in refused_part(folder).why


def test_paths_are_text(tmp_path: Path) -> None:
    folder = parquet(tmp_path / "m")
    table = pq.read_table(folder / "x" / "refs.0.parq")
    pq.write_table(table.set_column(0, "path", pa.array(["s3://b/a", ""])), folder / "x" / "refs.0.parq")
    assert refused_part(folder).why == "not a path: ''"
    pq.write_table(table.drop_columns(["raw", "size"]), folder / "x" / "refs.0.parq")
    assert refused_part(folder).why == "no column raw, size"


def test_metadata_that_is_nested_too_deeply(tmp_path: Path) -> None:
    folder = parquet(tmp_path / "m")
    (folder / ".zmetadata").write_text("[" * 200_000)
    with pytest.raises(InvalidMetadata) as refused:
        read_references(folder)
    assert (refused.value.where, refused.value.why) == (f"{folder}: .zmetadata", "nested too deeply")


@pytest.mark.parametrize("size", [0, -1, True, "2", None, 1 << 31])
def test_record_sizes_that_are_none(tmp_path: Path, size: Any) -> None:
    with pytest.raises(InvalidMetadata, match="is not a number of rows"):
        read_references(parquet(tmp_path / "m", record_size=size))


def test_chunks_outside_of_a_lazy_grid(tmp_path: Path) -> None:
    lazy = x_of(parquet(tmp_path / "m")).manifest
    for chunk in (-1, 2):
        with pytest.raises(NotFound, match=r"a chunk outside of the grid \(2,\)"):
            lazy.rows(np.array([0, chunk], np.int64))


def test_a_grid_too_large_for_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lazy = x_of(parquet(tmp_path / "m")).manifest
    monkeypatch.setattr(parquet_read, "DENSE_LIMIT", 1)
    with pytest.raises(BadRequest, match="a grid of 2 chunks is too large to be held in memory"):
        lazy.load()
    monkeypatch.setattr(sparse, "DENSE_LIMIT", 1)
    empty = np.empty(0, np.uint64)
    few = sparse.SparseManifest((2,), (), np.empty(0, np.int64), np.empty(0, np.int32), empty, empty)
    with pytest.raises(BadRequest, match="a grid of 2 chunks is too large to be held in memory"):
        few.load()


@pytest.mark.parametrize("size", [0, -1])
def test_written_record_sizes(tmp_path: Path, size: int) -> None:
    with pytest.raises(BadRequest, match=f"^record_size is {size}; a whole number from 1 on was expected$"):
        write_references(GROUP, tmp_path / "m.parquet", options=MapWriteOptions(record_size=size))
    assert not (tmp_path / "m.parquet").exists()


def test_a_part_file_holds_two_gib(monkeypatch: pytest.MonkeyPatch) -> None:
    class Long(bytes):
        def __len__(self) -> int:
            return 1 << 30

    with pytest.raises(BadRequest, match="more than 2 GiB of inline data in one part file"):
        parquet_write.binary_column(list[bytes]([Long(), Long()]))


@pytest.mark.parametrize("what", ["group", "array"])
def test_a_map_whose_members_changed_their_kind(tmp_path: Path, what: str) -> None:
    url = str(tmp_path / "m.json")
    write_references(
        VirtualGroup(groups={"g": VirtualGroup(groups={"x": GROUP})}, arrays={"y": GROUP.arrays["x"]}), url
    )
    node = read_references(url)
    assert isinstance(node, VirtualGroup)
    place = place_of(node)
    assert place is not None
    with pytest.raises(NotFound) as refused:
        _ = _arrays_again(place.recipe, "y") if what == "group" else _manifest_again(place.recipe, "g/x")
    assert refused.value.what == f"{url}: {'y' if what == 'group' else 'g/x'!r} is no {what} any more"


def test_formats_that_are_none(tmp_path: Path) -> None:
    no_format: Any = "yaml"
    with pytest.raises(BadRequest, match="unknown format 'yaml'; known: json, json-v0, parquet, icechunk, dmrpp"):
        write_references(GROUP, tmp_path / "m.json", format=no_format)
    with pytest.raises(BadRequest, match="the name does not say which form of map to write"):
        write_references(GROUP, tmp_path / "m.nc")


def test_a_pipe_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "m.json")
    with pytest.raises(Conflict) as refused:
        write_references(GROUP, tmp_path / "m.json")
    assert str(tmp_path / "m.json") + " is no ordinary file" in str(refused.value)


@pytest.mark.parametrize(("form", "name"), [("parquet", "m"), ("icechunk", "m")])
def test_a_file_is_no_folder(tmp_path: Path, form: Any, name: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(Conflict, match="is a file, and a map of this form is a folder"):
        check_there(str(tmp_path / name), form)


def test_a_folder_that_cannot_be_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "m.parquet").mkdir()

    def denied(path: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", denied)
    with pytest.raises(FetchFailed, match="Permission denied") as refused:
        check_there(str(tmp_path / "m.parquet"), "parquet")
    assert refused.value.url == str(tmp_path / "m.parquet")


def memory(name: str, data: bytes) -> str:
    import fsspec

    fsspec.filesystem("memory").pipe_file(f"/refused/{name}", data)
    return f"memory://refused/{name}"


def test_what_object_storage_holds_is_not_replaced() -> None:
    memory("m/.zmetadata", b'{"metadata": {}}')
    with pytest.raises(Conflict, match="memory://refused/m is no Parquet map: it is not replaced"):
        check_there("memory://refused/m", "parquet")
    memory("s/zarr.json", b"{}")
    with pytest.raises(Conflict, match="is a Zarr store, and no Parquet map"):
        check_there("memory://refused/s", "parquet")
    with pytest.raises(Conflict, match="is there and is no reference map"):
        check_there(memory("a.json", b'{"a": 1}'), "json")
    with pytest.raises(Conflict, match=r"is there and is no DMR\+\+ document"):
        check_there(memory("a.dmrpp", b"<a/>"), "dmrpp")
    check_there(memory("b.json", b""), "json")
    check_there("memory://refused/none.dmrpp", "dmrpp")
    memory("p/.zmetadata", b'{"metadata": {}, "record_size": 5}')
    check_there("memory://refused/p", "parquet")


def test_storage_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(self: Access, url: str) -> None:
        raise FetchFailed(url, "no answer")

    monkeypatch.setattr(Access, "open", failing)
    forms: list[Any] = ["json", "parquet", "dmrpp"]
    for form in forms:
        with pytest.raises(FetchFailed, match="no answer"):
            check_there("memory://refused/any", form)


def test_an_array_that_no_document_describes(tmp_path: Path) -> None:
    scalar = array((), ())
    odd = replace(scalar, meta=replace(scalar.meta, grid=RectilinearGrid(())))
    with pytest.raises(Unsupported) as refused:
        write_references(VirtualGroup(arrays={"x": odd}), tmp_path / "m.json")
    assert (refused.value.reason, refused.value.path) == ("zarr-v3", "x")
    assert refused.value.detail == "a rectilinear grid without axes"


def test_what_comes_back_for_an_inlined_chunk(tmp_path: Path) -> None:
    class Short(MemorySource):
        def read(self, ranges: Any) -> Any:
            return [b"123" for _ in ranges]

    with pytest.raises(FetchFailed) as refused:
        inline(GROUP, lambda url: Short(b"", url))
    assert refused.value.url == "/data/a.nc"
    assert "3 bytes came back for a chunk of 'x'" in str(refused.value)


def test_icechunk_is_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from byteatlas.errors import MissingExtra
    from byteatlas.manifest.foreign.icechunk import read_icechunk

    monkeypatch.setitem(sys.modules, "icechunk", None)
    with pytest.raises(MissingExtra, match="an Icechunk repository") as refused:
        read_icechunk(tmp_path)
    assert refused.value.extra == "icechunk"
