"""What the server answers: bytes, conditions, ranges, refusals; nothing but what a source says is absent is absent."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.archives import small_archive
from tests.serving import get, get_many

import byteatlas as ba
from byteatlas.errors import BadRequest
from byteatlas.manifest.model import VirtualArray
from byteatlas.serving import ServeOptions, app


@pytest.fixture(scope="module")
def archive() -> Path:
    return small_archive()[0]


@pytest.fixture(scope="module")
def server(archive: Path) -> Any:
    return app({"sea": str(archive)}, options=ServeOptions(filters=True))


def stored(archive: Path, path: str, chunk: int = 0) -> bytes:
    """The bytes of a chunk as they lie in the file."""
    array = ba.scan(archive)[path]
    assert isinstance(array, VirtualArray)
    row = array.manifest.rows(np.array([chunk]))
    begin = int(row.offset[0])
    return archive.read_bytes()[begin : begin + int(row.length[0])]


def opened(target: Any, path: str) -> ba.Array:
    array = ba.open(target, path=path)
    assert isinstance(array, ba.Array)
    return array


def test_stored_bytes_are_passed_on(server: Any, archive: Path) -> None:
    answer = get(server, "/sea/v2/sst/0.0.0")
    assert answer.status_code == 200
    assert answer.content == stored(archive, "sst")
    assert answer.headers["content-type"] == "application/octet-stream"


def test_what_a_version_lacks_is_encoded_again(server: Any, archive: Path) -> None:
    """Version 3 has no shuffle: bytes and zstd, which decode to our own values."""
    from numcodecs.zstd import Zstd

    document = get(server, "/sea/v3/sst/zarr.json").json()
    assert [codec["name"] for codec in document["codecs"]] == ["bytes", "zstd"]
    answer = get(server, "/sea/v3/sst/c/0/0/0")
    array = opened(archive, "sst")
    values = np.frombuffer(Zstd().decode(answer.content), "<i2").reshape(array.chunks)
    assert np.array_equal(values, array.blocks[0, 0, 0])


def test_shuffled_chunks_are_passed_on_when_asked_for_only(archive: Path) -> None:
    document = get(app({"sea": str(archive)}), "/sea/v2/sst/.zarray").json()
    assert document["filters"] is None
    assert document["compressor"]["id"] == "zstd"


def test_consolidated_metadata_are_those_of_the_documents(server: Any) -> None:
    root = get(server, "/sea/v3/zarr.json").json()
    for path, inside in root["consolidated_metadata"]["metadata"].items():
        assert get(server, f"/sea/v3/{path}/zarr.json").json() == inside
    whole = get(server, "/sea/v2/.zmetadata").json()["metadata"]
    assert len(whole) > 10
    assert all(get(server, f"/sea/v2/{key}").json() == inside for key, inside in whole.items())


@pytest.mark.parametrize("key", ["v2/sst/0.0.0", "v3/sst/c/0/0/0", "v2/.zmetadata"])
def test_ranges(server: Any, key: str) -> None:
    whole = get(server, f"/sea/{key}")
    n, etag = len(whole.content), whole.headers["etag"]
    for text, begin, end in (("0-9", 0, 10), ("5-", 5, n), ("-7", n - 7, n), (f"3-{n * 9}", 3, n), (f"-{n * 9}", 0, n)):
        part = get(server, f"/sea/{key}", {"range": f"bytes={text}"})
        assert part.status_code == 206
        assert part.content == whole.content[begin:end]
        assert part.headers["content-range"] == f"bytes {begin}-{end - 1}/{n}"
        assert part.headers["etag"] == etag
    for text in (f"{n}-", f"{n + 5}-{n + 9}", "-0"):
        none = get(server, f"/sea/{key}", {"range": f"bytes={text}"})
        assert none.status_code == 416
        assert none.headers["content-range"] == f"bytes */{n}"
    for text in ("bytes=5-2", "bytes=a-b", "chunks=0-1", "bytes=-", "bytes=0-1,4-5", "bytes=" + "9" * 40 + "-"):
        assert get(server, f"/sea/{key}", {"range": text}).content == whole.content
    assert get(server, f"/sea/{key}", {"range": "bytes=0-0", "if-range": etag}).status_code == 206
    assert get(server, f"/sea/{key}", {"range": "bytes=0-0", "if-range": '"other"'}).status_code == 200


@pytest.mark.parametrize("key", ["v2/sst/0.0.0", "v3/sst/c/0/0/0", "v3/zarr.json", ""])
def test_conditions_and_head(server: Any, key: str) -> None:
    whole = get(server, f"/sea/{key}")
    etag = whole.headers["etag"]
    assert re.fullmatch(r'"[0-9a-f]+"', etag), "strong"
    assert "max-age" in whole.headers["cache-control"]
    for text in (etag, f'"x", {etag}', f"W/{etag}", "*"):
        same = get(server, f"/sea/{key}", {"if-none-match": text})
        assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", etag)
    assert get(server, f"/sea/{key}", {"if-none-match": '"x"'}).status_code == 200
    assert get(server, f"/sea/{key}", {"if-match": '"x"'}).status_code == 412
    assert get(server, f"/sea/{key}", {"if-match": etag}).status_code == 200
    head = get(server, f"/sea/{key}", method="HEAD")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(whole.content))


def test_an_etag_changes_with_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a.bin"
    found = []
    for content in (b"12345678", b"87654321"):
        file.write_bytes(content)
        references = {".zgroup": '{"zarr_format": 2}', "x/.zarray": json.dumps({
            "zarr_format": 2, "shape": [8], "chunks": [8], "dtype": "|u1", "compressor": None, "filters": None,
            "fill_value": 0, "order": "C"}), "x/0": [str(file), 0, 8]}  # fmt: skip
        answer = get(app({"a": ba.load(references)}), "/a/v2/x/0")
        assert answer.content == content
        found.append(answer.headers["etag"])
    assert found[0] != found[1]


def test_missing_chunks_are_absent_and_others_never_are(tmp_path: Path) -> None:
    """404 for a chunk that was never written; 502 for one whose file is gone, or was changed."""
    file = tmp_path / "a.bin"
    file.write_bytes(bytes(range(16)))
    zarray = {"zarr_format": 2, "shape": [24], "chunks": [8], "dtype": "|u1", "compressor": None, "filters": None,
              "fill_value": 0, "order": "C"}  # fmt: skip
    references = {".zgroup": '{"zarr_format": 2}', "x/.zarray": json.dumps(zarray), "x/0": [str(file), 0, 8],
                  "x/1": [str(tmp_path / "gone.bin"), 0, 8], "y/.zarray": json.dumps(zarray),
                  "y/0": [str(file), 12, 8]}  # fmt: skip
    server = app({"a": ba.load(references)})
    for version, key in (("v2", "x/{}"), ("v3", "x/c/{}")):
        statuses = [get(server, f"/a/{version}/{key.format(i)}").status_code for i in (0, 1, 2, 3)]
        assert statuses == [200, 502, 404, 404]
    assert get(server, "/a/v2/y/0").status_code == 502
    text = get(server, "/a/v2/x/1").text
    assert "not there" in text
    assert str(tmp_path) not in text


def test_a_changed_source_is_an_error(tmp_path: Path, archive: Path) -> None:
    copy = tmp_path / "sea.nc"
    copy.write_bytes(archive.read_bytes())
    server = app({"sea": ba.scan(copy)}, options=ServeOptions(filters=True))
    copy.write_bytes(archive.read_bytes() + b"more")
    for key in ("v2/sst/0.0.0", "v3/sst/c/0/0/0"):
        answer = get(server, f"/sea/{key}")
        assert answer.status_code == 502
        assert "changed" in answer.text


def test_damaged_chunks_are_an_error(tmp_path: Path, archive: Path) -> None:
    node = ba.scan(archive)
    array = node["sst"]
    assert isinstance(array, VirtualArray)
    row = array.manifest.rows(np.array([0]))
    data = bytearray(archive.read_bytes())
    data[int(row.offset[0]) : int(row.offset[0] + row.length[0])] = bytes(int(row.length[0]))
    copy = tmp_path / "sea.nc"
    copy.write_bytes(data)
    answer = get(app({"sea": str(copy)}), "/sea/v3/sst/c/0/0/0")
    assert (answer.status_code, "decode" in answer.text) == (502, True)


def test_a_source_that_hangs_is_a_timeout(monkeypatch: pytest.MonkeyPatch, archive: Path) -> None:
    import time

    from byteatlas.serving import tree

    server = app({"sea": str(archive)}, options=ServeOptions(timeout=0.2, filters=True))
    get(server, "/sea/v2/.zgroup")
    monkeypatch.setattr(tree, "stored_body", lambda *_: time.sleep(0.6))
    answer = get(server, "/sea/v2/sst/0.0.0")
    assert (answer.status_code, "in time" in answer.text) == (504, True)


def test_sources_of_this_machine_are_not_named(server: Any, archive: Path) -> None:
    assert get(server, "/sea/refs.json").status_code == 403
    for path in ("/", "/sea/", "/sea/v2/.zmetadata", "/sea/v3/zarr.json"):
        assert str(archive.parent) not in get(server, path).text


def test_references_are_given_where_sources_may_be_named(archive: Path) -> None:
    options = ServeOptions(naming=ba.Policy(allow=[str(archive.parent)]))
    answer = get(app({"sea": str(archive)}, options=options), "/sea/refs.json")
    assert answer.status_code == 200
    assert np.array_equal(opened(answer.json(), "sst")[...], opened(archive, "sst")[...])
    few = ServeOptions(naming=options.naming, most_references=3)
    assert get(app({"sea": str(archive)}, options=few), "/sea/refs.json").status_code == 403


def test_urls_with_secrets_are_not_named() -> None:
    zarray = {"zarr_format": 2, "shape": [8], "chunks": [8], "dtype": "|u1", "compressor": None, "filters": None,
              "fill_value": 0, "order": "C"}  # fmt: skip
    for url, status in (("https://h.org/a.bin", 200), ("https://h.org/a.bin?X-Amz-Signature=0af3", 403),
                        ("https://me:pass@h.org/a.bin", 403), ("http://127.0.0.1/a.bin", 403)):  # fmt: skip
        references = {".zgroup": '{"zarr_format": 2}', "x/.zarray": json.dumps(zarray), "x/0": [url, 0, 8]}
        server = app({"a": ba.load(references)})
        assert get(server, "/a/refs.json").status_code == status, url
        page = get(server, "/a/")
        assert page.status_code == 200
        assert "0af3" not in page.text
        assert "pass@" not in page.text


def test_redirects_to_public_servers_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from byteatlas.serving import bodies

    body = bodies.Body(8, '"e"', lambda *_: b"12345678", url="https://h.org/x/0")
    zarray = {"zarr_format": 2, "shape": [8], "chunks": [8], "dtype": "|u1", "compressor": None, "filters": None,
              "fill_value": 0, "order": "C"}  # fmt: skip
    references = {".zgroup": '{"zarr_format": 2}', "x/.zarray": json.dumps(zarray), "x/0": ["https://h.org/x/0"]}
    monkeypatch.setattr("byteatlas.serving.tree.stored_body", lambda *_: body)
    node = ba.load(references)
    sent = get(app({"a": node}, options=ServeOptions(redirect=True)), "/a/v2/x/0")
    assert (sent.status_code, sent.headers["location"]) == (307, "https://h.org/x/0")
    assert get(app({"a": node}), "/a/v2/x/0").content == b"12345678"


def test_a_store_is_served_in_both_versions(tmp_path: Path, archive: Path) -> None:
    """A store of version 3 with shards: whole in version 3, decoded in version 2."""
    options = ba.CopyOptions(zarr_format=3, chunks={"sst": (2, 18, 36)}, shards={"sst": (2, 36, 72)})
    ba.copy(archive, tmp_path / "a.zarr", options=options)
    server = app({"a": str(tmp_path / "a.zarr")})
    key = "sst/c/0/0/0"
    assert get(server, f"/a/v3/{key}").content == (tmp_path / "a.zarr" / key).read_bytes()
    assert get(server, "/a/v2/sst/.zarray").json()["chunks"] == [2, 18, 36]
    assert get(server, "/a/v2/sst/0.0.0").status_code == 200
    assert get(server, "/a/refs.json").status_code == 404


def test_it_is_mounted_in_another_application(archive: Path, server: Any) -> None:
    from starlette.applications import Starlette
    from starlette.routing import Mount

    outer = Starlette(routes=[Mount("/deep/data", app=server)])
    assert get(outer, "/deep/data/sea/v2/sst/0.0.0").content == stored(archive, "sst")
    assert get(outer, "/deep/data/").status_code == 200
    moved = get(outer, "/deep/data/sea")
    assert (moved.status_code, moved.headers["location"]) == (308, "sea/")


def test_names_come_from_targets_and_are_checked(archive: Path) -> None:
    server = app([str(archive), str(archive)])
    name = archive.name
    assert list(server.library.published) == [name, f"{name}-2"]
    for name in ("", "-", "a/b", "..", "a b"):
        with pytest.raises(BadRequest, match="cannot be a name"):
            app({name: str(archive)})
    with pytest.raises(BadRequest, match="nothing to serve"):
        app([])


def test_many_at_once(server: Any, archive: Path) -> None:
    answers = get_many(server, ["/sea/v3/sst/c/0/0/0", "/sea/v2/sst/0.0.0"] * 100)
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 2


def test_a_refused_root_array_has_no_metadata(tmp_path: Path) -> None:
    """With them, chunks that are not there would read as the fill value."""
    import numcodecs
    import zarr

    stored = zarr.create_array(
        tmp_path / "a.zarr", shape=(1000,), chunks=(1000,), dtype="f8", zarr_format=2, compressors=numcodecs.LZMA()
    )
    stored[:] = np.arange(1000.0)
    server = app({"a": opened(tmp_path / "a.zarr", "")}, options=ServeOptions(most_chunk=100))
    for key in ("v2/.zarray", "v2/.zattrs", "v3/zarr.json", "v2/0", "v3/c/0"):
        assert get(server, f"/a/{key}").status_code == 404, key
    assert "too-large" in get(server, "/a/v3/zarr.json").text


def test_looks_with_too_many_fields_are_refused(server: Any) -> None:
    assert get(server, "/sea/look?" + "&".join(["at=0"] * 9)).status_code == 400


def test_a_store_that_is_written_to_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import numcodecs
    import zarr
    from numcodecs.zstd import Zstd

    now = 0.0
    monkeypatch.setattr("byteatlas.serving.tree.monotonic", lambda: now)
    path = tmp_path / "a.zarr"
    stored = zarr.create_array(
        path, shape=(9,), chunks=(9,), dtype="f8", zarr_format=2, compressors=numcodecs.LZMA(), fill_value=7
    )
    stored[:] = 1.0
    server = app({"a": str(path)}, options=ServeOptions(max_age=60))
    before = get(server, "/a/v3/c/0")
    stored[:] = 2.0
    now = 61.0
    after = get(server, "/a/v3/c/0", {"if-none-match": before.headers["etag"]})
    assert after.status_code == 200
    assert np.frombuffer(Zstd().decode(after.content))[0] == 2
