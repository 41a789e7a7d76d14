"""What came from the network leads to nothing on this machine, through no verb; what lies here may name anything."""

from __future__ import annotations

import concurrent.futures as cf
import io
import json
import pickle
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
from tests.http_server import serve

import byteatlas as ba
from byteatlas.cli.app import run
from byteatlas.errors import FetchFailed, Forbidden
from byteatlas.executors.combining import prepare_many

h5py = pytest.importorskip("h5py")

SECRET = np.array([4242.0, 31337.0, 90210.0, 90211.0], "f4")
MARKS = (b"31337", b"4242", b"90210", SECRET.tobytes()[:8])
PUBLIC = np.arange(4, dtype="f4")


@pytest.fixture
def secret(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The same bytes under every kind of URL that leads to this machine."""
    path = tmp_path / "secret.bin"
    path.write_bytes(SECRET.tobytes())
    memory = fsspec.filesystem("memory")
    memory.pipe_file("/byteatlas-secret.bin", SECRET.tobytes())
    (tmp_path / "secret.zip").write_bytes(zipped({"secret.bin": SECRET.tobytes()}))
    yield {
        "file": path.as_uri(),
        "local": f"local://{path}",
        "cache": f"simplecache::{path.as_uri()}",
        "zip": f"zip://secret.bin::{tmp_path / 'secret.zip'}",
        "memory": "memory://byteatlas-secret.bin",
        "escape": "file://localhost" + str(path).replace("secret", "%73ecret"),
    }
    memory.rm("/byteatlas-secret.bin")


def zipped(files: dict[str, bytes]) -> bytes:
    import zipfile

    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return whole.getvalue()


def a_map(url: str, size: int = 16) -> bytes:
    """A map whose coordinate ``x`` and variable ``v`` lie at a URL."""
    zarray = {
        "zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "<f4", "compressor": None, "filters": None,
        "order": "C", "fill_value": None,
    }  # fmt: skip
    refs: dict[str, Any] = {".zgroup": json.dumps({"zarr_format": 2})}
    for name in ("x", "v"):
        refs[f"{name}/.zarray"] = json.dumps(zarray)
        refs[f"{name}/.zattrs"] = json.dumps({"_ARRAY_DIMENSIONS": ["x"]})
        refs[f"{name}/0"] = [url, 0, size]
    return json.dumps({"version": 1, "refs": refs}).encode()


def clean(data: bytes | str) -> bool:
    data = data.encode() if isinstance(data, str) else data
    return not any(mark in data for mark in MARKS)


KINDS = ["file", "local", "cache", "zip", "memory", "escape"]


def values(node: Any) -> Any:
    """An array's values, or those of the group's array ``v``."""
    return (node if hasattr(node, "shape") else node["v"])[...]


def read_all(node: Any) -> Any:
    return [array[...] for _, array in node.walk() if hasattr(array, "shape")]


VERBS: dict[str, Callable[[str, Path], Any]] = {
    "open": lambda url, _: read_all(ba.open(url)),
    "open path": lambda url, _: values(ba.open(url, path="v")),
    "load, open": lambda url, _: read_all(ba.open(ba.load(url))),
    "load, pickle, open": lambda url, _: read_all(ba.open(pickle.loads(pickle.dumps(ba.load(url))))),
    "load, member, open": lambda url, _: values(ba.open(_group(url)["v"])),
    "combine": lambda url, _: ba.combine([url, url], concat="x", duplicates="first"),
    "combine nodes": lambda url, _: ba.combine([_group(url)], concat="x"),
    "plan_combine": lambda url, _: ba.plan_combine([url, url], concat="x", duplicates="first"),
    "prepare_combine": lambda url, _: ba.prepare_combine([url], concat="x").result(),
    "prepare_many": lambda url, _: _prepared(url),
    "select": lambda url, _: ba.select(_group(url), {"x": slice(0, 1e6)}),
    "select method": lambda url, _: _group(url).select(x=slice(0, 1e6)),
    "mask": lambda url, _: ba.mask(_group(url), {"x": slice(0, 1)}, keep_cut=True),
    "concat, open": lambda url, _: read_all(ba.open(ba.concat([_group(url), _group(url)], "x"))),
    "concat method, open": lambda url, _: read_all(ba.open(_group(url).concat(_group(url), "x"))),
    "copy": lambda url, folder: ba.copy(url, folder / "out.zarr"),
    "copy node": lambda url, folder: ba.copy(ba.load(url), folder / "out.zarr"),
    "write json": lambda url, folder: ba.write(ba.load(url), folder / "out.json"),
    "write parquet": lambda url, folder: ba.write(ba.load(url), folder / "out.parquet"),
    "write dict": lambda url, _: ba.write(ba.load(url), {}),
    "write of a part": lambda url, folder: ba.write(ba.concat([_group(url), _group(url)], "x"), folder / "out.json"),
    "open after combining": lambda url, _: read_all(ba.open(ba.combine([url, url], concat="run"))),
    "georeference": lambda url, _: _georeference(url),
    "xarray": lambda url, _: _xarray(url),
    "xarray node": lambda url, _: _xarray(ba.load(url)),
    "xarray dask": lambda url, _: _xarray(url, chunks={}),
    "zarr store": lambda url, _: _zarr(url),
}


def _group(url: str) -> Any:
    return ba.load(url)


def _prepared(url: str) -> Any:
    found = prepare_many([url, url + "?2"], ba.CombineOptions(concat=("x",)), "threads:2", width=1)
    for failure in found.failures.values():
        raise Forbidden(url, failure.message) if failure.kind == "Forbidden" else FetchFailed(url, failure.message)
    return found.prepared.result() if found.prepared else None


def _georeference(url: str) -> Any:
    found = ba.georeference(url, "v")
    raise Forbidden(url, "has no transform") if found.transform is None else AssertionError(found)


def _xarray(target: Any, **more: Any) -> Any:
    import xarray

    with xarray.open_dataset(target, engine="byteatlas", **more) as found:
        return found["v"].values


def _zarr(url: str) -> Any:
    import zarr

    from byteatlas.zarr_stores.reference import ReferenceZarrStore

    group: Any = zarr.open_group(ReferenceZarrStore(ba.load(url)), mode="r")
    return group["v"][...]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("verb", VERBS)
def test_a_map_from_the_network_leads_to_no_local_byte(
    verb: str, kind: str, secret: dict[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with serve({"/a.json": a_map(secret[kind])}) as web, pytest.raises((Forbidden, FetchFailed)) as caught:
        VERBS[verb](f"{web.url}/a.json", out)
    if isinstance(caught.value, FetchFailed):  # kinds of URL that no policy stops must not lead anywhere
        assert kind == "zip" or verb == "prepare_many"
    for file in out.rglob("*"):
        if file.is_file():
            assert clean(file.read_bytes()), file


@pytest.mark.parametrize("where", ["/{}", "../../../../../../..{}"])
def test_an_absolute_path_is_the_servers(where: str, tmp_path: Path) -> None:
    (tmp_path / "secret.bin").write_bytes(SECRET.tobytes())
    url = where.format(str(tmp_path / "secret.bin")).replace("//", "/")
    with serve({"/d/a.json": a_map(url), str(tmp_path / "secret.bin"): PUBLIC.tobytes()}) as web:
        root: Any = ba.open(f"{web.url}/d/a.json")
        np.testing.assert_array_equal(root["v"][...], PUBLIC)


COMMANDS = [
    "info {url}", "info {url} --json", "verify {url}", "verify {url} --json", "verify {url} --sources",
    "convert {url} {out}/o.json", "convert {url} {out}/o.parquet", "combine {url} -c x -o {out}/o.json",
    "combine {url} -c x --dry-run", "combine {url} {url}?2 -c x --dry-run --json",
    "combine {url} {url}?2 -c x -o {out}/o.json --executor threads:2", "append {mine} {url} -c x",
    "append {parquet} {url} -c x", "combine {url} -c x -o {mine} --append",
    "inline {url} {out}/o.json", "inline {url} {out}/o.json --below 100000", "deinline {url} {out}/o.json",
    "rename {url} {out}/o.json --prefix s3://=gs://", "rename {url} {out}/o.json --archives",
    "consolidate {url} {out}/o.json", "split {url} {out} --by array", "split {url} {out} --along x --every 4",
    "select {url} {out}/o.json x=0..1", "select {url} {out}/o.json x=0..1 --mask --keep-cut --fill 0",
    "copy {url} {out}/o.zarr", "copy {url} {out}/o.zip", "model dump {url}", "diff {url} {mine}", "stats {url}",
    "stats {url} --array v --slice 0:2",
]  # fmt: skip


@pytest.mark.parametrize("kind", ["file", "memory"])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_leads_there_either(
    command: str, kind: str, secret: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "public.bin").write_bytes(PUBLIC.tobytes())
    mine = ba.load(json.loads(a_map(str(tmp_path / "public.bin"))))
    ba.write(mine, out / "mine.json")
    ba.write(mine, out / "mine.parquet")
    before = (out / "mine.json").read_bytes()
    with serve({"/a.json": a_map(secret[kind])}) as web:
        names = {"url": f"{web.url}/a.json", "out": out, "mine": out / "mine.json", "parquet": out / "mine.parquet"}
        status = run(command.format(**names).split())
    said = capsys.readouterr()
    assert clean(said.out + said.err), said
    for file in out.rglob("*"):
        if file.is_file():
            data = file.read_bytes()
            assert clean(data), file
            assert b"secret" not in data, f"{file} is a local map now, and may name local files"
    assert (out / "mine.json").read_bytes() == before
    harmless = ("info", "model", "diff", "stats", "verify")
    assert status != 0 or command.startswith(harmless)


def hostile_archives(folder: Path) -> dict[str, bytes]:
    """HDF5 files whose values lie in a local file: behind an external link, in a virtual dataset, in raw storage."""
    with h5py.File(folder / "secret.h5", "w") as f:
        f["v"] = SECRET
    (folder / "raw.bin").write_bytes(SECRET.tobytes())
    found = {}
    with h5py.File(folder / "a.h5", "w") as f:
        f["link"] = h5py.ExternalLink(str(folder / "secret.h5"), "v")
        f["x"] = PUBLIC
    found["/link.h5"] = (folder / "a.h5").read_bytes()
    with h5py.File(folder / "b.h5", "w") as f:
        layout = h5py.VirtualLayout((4,), "f4")
        layout[:] = h5py.VirtualSource(str(folder / "secret.h5"), "v", (4,))
        f.create_virtual_dataset("link", layout, fillvalue=-1)
        f["x"] = PUBLIC
    found["/virtual.h5"] = (folder / "b.h5").read_bytes()
    with h5py.File(folder / "c.h5", "w") as f:
        f.create_dataset("link", (4,), "f4", external=[(str(folder / "raw.bin"), 0, 16)])
        f["x"] = PUBLIC
    found["/raw.h5"] = (folder / "c.h5").read_bytes()
    with h5py.File(folder / "d.h5", "w") as f:
        f["link"] = h5py.ExternalLink(f"file://{folder / 'secret.h5'}", "v")
        f["x"] = PUBLIC
    found["/url.h5"] = (folder / "d.h5").read_bytes()
    return found


ARCHIVES = ["/link.h5", "/virtual.h5", "/raw.h5", "/url.h5"]


@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_from_the_network_leads_to_no_local_byte(name: str, tmp_path: Path) -> None:
    files = hostile_archives(tmp_path)
    out = tmp_path / "out"
    out.mkdir()
    with serve(files) as web, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        url = web.url + name
        vg = ba.scan(url, options=ba.ScanOptions(inline_below=1 << 20))
        # To a virtual dataset, a file that the server does not have is one that was not written yet.
        assert ("link" in vg.arrays) == (name == "/virtual.h5")
        for target in (url, vg, ba.load(url)):
            root: Any = ba.open(target)
            assert clean(b"".join(a.tobytes() for a in read_all(root)))
        ba.copy(url, out / "o.zarr")
        ba.write(vg, out / "o.json")
        assert clean(json.dumps(ba.verify(url).document()))
        assert clean(json.dumps(ba.verify(vg).document()))
        assert clean(json.dumps(ba.verify(out / "o.json").document()))
        assert run(["scan", url, "-o", str(out / "p.json"), "--inline-below", "1MB"]) == 0
        assert run(["copy", url, str(out / "p.zarr")]) == 0
        assert run(["verify", url]) in (0, 1)
    for file in out.rglob("*"):
        if file.is_file():
            assert clean(file.read_bytes()), file


@pytest.mark.parametrize("name", ARCHIVES[:3])
@pytest.mark.parametrize("how", ["deny", "allow", "local"])
def test_opening_follows_no_link_that_a_scan_would_refuse(name: str, how: str, tmp_path: Path) -> None:
    hostile_archives(tmp_path)
    path = tmp_path / {"/link.h5": "a.h5", "/virtual.h5": "b.h5", "/raw.h5": "c.h5"}[name]
    policy = {
        "deny": ba.Policy(deny=[str(tmp_path / "secret.h5"), str(tmp_path / "raw.bin")]),
        "allow": ba.Policy(allow=[str(path)]),
        "local": ba.Policy(allow=str(path), local=False),
    }[how]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert "link" not in ba.scan(path, policy=policy).arrays
        root: Any = ba.open(path, policy=policy)
        assert "link" not in list(root)
        node: Any = ba.load(path, policy=policy)
        assert "link" not in node.arrays
        assert [i.status for i in ba.verify(path, policy=policy).items if i.path == "link"] != ["equal"]
        permitted: Any = ba.open(path)
        assert "link" in list(permitted)


def test_the_policy_can_permit_it(secret: dict[str, str], tmp_path: Path) -> None:
    with serve({"/a.json": a_map(secret["file"])}) as web:
        url = f"{web.url}/a.json"
        for policy in (ba.Policy(allow=["/"]), ba.Policy(allow=str(tmp_path)), ba.Policy(local=True)):
            root: Any = ba.open(url, policy=policy)
            np.testing.assert_array_equal(root["v"][...], SECRET)
            node: Any = ba.load(url, policy=policy)
            kept: Any = ba.open(node)
            np.testing.assert_array_equal(kept["v"][...], SECRET)
            ba.write(node, tmp_path / "mine.json")
            mine: Any = ba.open(tmp_path / "mine.json")
            np.testing.assert_array_equal(mine["v"][...], SECRET)
            assert ba.combine([node], concat="x").arrays["v"].manifest.load().sources
            with pytest.raises(Forbidden):
                values(ba.open(node, policy=ba.Policy(deny=[str(tmp_path)])))
        for policy in (ba.Policy(allow=["/nowhere"]), ba.Policy(deny=["s3://x"]), ba.Policy()):
            with pytest.raises(Forbidden):
                values(ba.open(url, policy=policy))


def test_each_keeps_its_right_in_a_combination(secret: dict[str, str], tmp_path: Path) -> None:
    """A local map and one from the network name the same local file: the one may, the other may not."""
    with serve({"/a.json": a_map(secret["file"])}) as web:
        (tmp_path / "mine.json").write_bytes(a_map(secret["file"]))
        theirs, mine = ba.load(f"{web.url}/a.json"), ba.load(tmp_path / "mine.json")
        assert isinstance(theirs, ba.VirtualTree)
        assert isinstance(mine, ba.VirtualTree)
        both: Any = ba.open(ba.concat([mine, theirs], "run", trust=("x",)))["v"]
        np.testing.assert_array_equal(both[0], SECRET)
        with pytest.raises(Forbidden):
            both[1]
        again: Any = ba.open(pickle.loads(pickle.dumps(ba.concat([theirs, mine], "run", trust=("x",)))))
        np.testing.assert_array_equal(again["v"][1], SECRET)
        with pytest.raises(Forbidden):
            again["v"][0]
        with pytest.raises(Forbidden):
            ba.write(ba.concat([theirs, mine], "run", trust=("x",)), tmp_path / "both.parquet")
        assert not (tmp_path / "both.parquet").exists()
        ba.write(ba.concat([mine, mine], "run"), tmp_path / "both.parquet")


def test_a_map_in_memory_may_name_memory_and_no_file(secret: dict[str, str]) -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe_file("/byteatlas-a.json", a_map(secret["memory"]))
    memory.pipe_file("/byteatlas-b.json", a_map(secret["file"]))
    root: Any = ba.open("memory://byteatlas-a.json")
    np.testing.assert_array_equal(root["v"][...], SECRET)
    with pytest.raises(Forbidden):
        values(ba.open("memory://byteatlas-b.json"))


def test_workers_refuse_too(secret: dict[str, str]) -> None:
    with serve({"/a.json": a_map(secret["file"])}) as web, cf.ThreadPoolExecutor(2) as pool:
        node = ba.load(f"{web.url}/a.json")
        future = pool.submit(lambda: values(ba.open(pickle.loads(pickle.dumps(node)))))
        with pytest.raises(Forbidden):
            future.result()


def test_many_scans(tmp_path: Path) -> None:
    files = hostile_archives(tmp_path)
    with serve(files) as web:
        done = ba.scan_many([web.url + name for name in ARCHIVES], "processes:2")
        assert done.ok
        for found in done.results.values():
            assert clean(b"".join(a.tobytes() for a in read_all(ba.open(found))))


def test_renaming_is_consent_for_where_a_url_begins(tmp_path: Path) -> None:
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror" / "x.bin").write_bytes(PUBLIC.tobytes())
    (tmp_path / "secret.bin").write_bytes(SECRET.tobytes())
    rename = ["--prefix", f"s3://bucket/={tmp_path}/mirror/"]
    with serve({"/a.json": a_map("s3://bucket/x.bin"), "/b.json": a_map("s3://bucket/../secret.bin")}) as web:
        assert run(["rename", f"{web.url}/a.json", str(tmp_path / "a.json"), *rename]) == 0
        assert run(["rename", f"{web.url}/b.json", str(tmp_path / "b.json"), *rename]) == 4
    root: Any = ba.open(tmp_path / "a.json")
    np.testing.assert_array_equal(root["v"][...], PUBLIC)
    assert not (tmp_path / "b.json").exists()
