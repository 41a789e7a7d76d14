"""Icechunk repositories: modes, branches, checksums, appending, versions."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.maps import array

import byteatlas as ba
from byteatlas.cli.app import run
from byteatlas.manifest.foreign.icechunk import IcechunkOptions, write_icechunk
from byteatlas.manifest.model import Manifest, SourceInfo, VirtualArray, VirtualGroup, inline_manifest
from byteatlas.values import replace

icechunk = pytest.importorskip("icechunk")
pytestmark = pytest.mark.filterwarnings("ignore")
reads = pytest.mark.skipif(
    not hasattr(icechunk.IcechunkStore, "array_chunk_iterator"),
    reason="icechunk 1 does not tell where chunks lie",
)
STEP = 3
"""Chunks of one file."""


def file(folder: Path, i: int, value: float | None = None) -> VirtualGroup:
    """One step of time: a file with ``STEP`` chunks of two values, and its coordinate."""
    path = folder / f"a {i}%.bin"
    values = np.arange(6, dtype="<f4") + 10 * i if value is None else np.full(6, value, "<f4")
    path.write_bytes(values.tobytes())
    refs: dict[tuple[int, ...], Any] = {(0, j): (str(path), 8 * j, 8) for j in range(STEP)}
    v = array((1, 6), (1, 2), references=refs, dimension_names=("time", "x"), attributes={"units": "K"})
    facts = path.stat()
    info = SourceInfo(str(path), facts.st_size, str(facts.st_mtime_ns))
    manifest: Manifest = replace(v.manifest.load(), sources=(info,))
    t = array((1,), (1,), dimension_names=("time",), attributes={})
    t = VirtualArray(t.meta, inline_manifest((1,), {0: np.array([i], "<f4").tobytes()}))
    return VirtualGroup(arrays={"time": t, "v": replace(v, manifest=manifest)})


def expected(n: int) -> Any:
    return np.arange(6, dtype="<f4") + 10 * np.arange(n, dtype="<f4")[:, None]


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def by_zarr(repository: Any, branch: str = "main") -> Any:
    zarr = pytest.importorskip("zarr")
    storage = icechunk.local_filesystem_storage(str(repository))
    config = icechunk.Repository.open(storage).config
    here = getattr(getattr(icechunk, "credentials", None), "LocalFileSystemAccess", None)
    allowed = icechunk.containers_credentials(dict.fromkeys(config.virtual_chunk_containers or {}, here))
    opened = icechunk.Repository.open(storage, config, authorize_virtual_chunk_access=allowed)
    return zarr.open_group(opened.readonly_session(branch).store, mode="r")


def messages(repository: Path, branch: str = "main") -> list[str]:
    opened = icechunk.Repository.open(icechunk.local_filesystem_storage(str(repository)))
    return [commit.message for commit in opened.ancestry(branch=branch)][:-1]


def test_nothing_is_overwritten_unless_asked(sources: Path, tmp_path: Path) -> None:
    where = f"icechunk:{tmp_path}/repo"
    ba.write(file(sources, 0), where)
    with pytest.raises(ba.Conflict, match="mode='append' adds to it, mode='replace' takes its place"):
        ba.write(file(sources, 1), where)
    np.testing.assert_array_equal(by_zarr(tmp_path / "repo")["v"][...], expected(1))
    ba.write(file(sources, 1), where, mode="replace")
    np.testing.assert_array_equal(by_zarr(tmp_path / "repo")["v"][...], expected(2)[1:])
    assert len(messages(tmp_path / "repo")) == 2
    with pytest.raises(ba.Conflict, match="has time, v already"):
        ba.write(file(sources, 0), where, mode="append")
    other = VirtualGroup(arrays={"w": file(sources, 0).arrays["v"]})
    ba.write(other, where, mode="append")
    assert sorted(by_zarr(tmp_path / "repo").array_keys()) == ["time", "v", "w"]


def test_a_source_that_was_changed_is_an_error(sources: Path, tmp_path: Path) -> None:
    tree = file(sources, 0)
    write_icechunk(tree, tmp_path / "repo")
    found = by_zarr(tmp_path / "repo")["v"]
    np.testing.assert_array_equal(found[...], expected(1))
    path = tree.arrays["v"].manifest.sources[0].url
    later = Path(path).stat().st_mtime + 2
    os.utime(path, (later, later))
    with pytest.raises(Exception, match="checksum"):
        found[...]


def test_branches_messages_and_several_commits(sources: Path, tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    write_icechunk(file(sources, 0), repo, IcechunkOptions(message="first"))
    write_icechunk(file(sources, 1), repo, IcechunkOptions(branch="trial", message="parts", most_references=1))
    np.testing.assert_array_equal(by_zarr(repo)["v"][...], expected(1))
    np.testing.assert_array_equal(by_zarr(repo, "trial")["v"][...], expected(2)[1:])
    assert messages(repo) == ["first"]
    assert messages(repo, "trial") == ["parts (part 2)", "parts (part 1)"]
    with pytest.raises(ba.NotFound, match="no branch 'tria'"):
        write_icechunk(file(sources, 2), repo, IcechunkOptions("append", "tria"))
    with pytest.raises(ba.NotFound, match="mode='create' makes one"):
        write_icechunk(file(sources, 2), tmp_path / "none", IcechunkOptions("append"))


def test_a_storage_object(sources: Path) -> None:
    storage = icechunk.in_memory_storage()
    assert write_icechunk(file(sources, 0), storage)
    with pytest.raises(ba.Conflict):
        write_icechunk(file(sources, 0), storage)


@pytest.mark.parametrize("mode", ["apend", "overwrite"])
def test_modes_by_name(mode: Any, sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hint = "did you mean 'append'" if mode == "apend" else "known: create, append, replace"
    with pytest.raises(ba.BadRequest, match=hint):
        ba.write(file(sources, 0), f"icechunk:{tmp_path}/repo", mode=mode)
    ba.write(file(sources, 0), tmp_path / "m.json")
    assert run(["convert", f"{tmp_path}/m.json", f"icechunk:{tmp_path}/repo", "--mode", mode]) == 2
    assert hint in capsys.readouterr().err
    with pytest.raises(ba.BadRequest, match="for Icechunk repositories"):
        ba.write(file(sources, 0), tmp_path / "m.json", mode="replace")
    assert not (tmp_path / "repo").exists()


@reads
def test_appended_as_maps_are(sources: Path, tmp_path: Path) -> None:
    where = f"icechunk:{tmp_path}/repo"
    ba.write(ba.combine([file(sources, 0), file(sources, 1)], "time"), where)
    first: Any = ba.load(where)
    third = file(sources, 2)
    for _ in range(2):
        done = ba.append(where, [third], "time")
        np.testing.assert_array_equal(by_zarr(tmp_path / "repo")["v"][...], expected(3))
        np.testing.assert_array_equal(by_zarr(tmp_path / "repo")["time"][...], [0, 1, 2])
    assert (done.added, len(done.skipped)) == ((), 1)
    assert messages(tmp_path / "repo") == ["1 added, 0 replaced", "virtual references by byteatlas"]
    assert first["v"].meta.shape == (2, 6)
    root: Any = ba.open(where)
    np.testing.assert_array_equal(root["v"][...], expected(3))


@reads
@pytest.mark.parametrize("which", [0, 1, 2])
def test_reprocessed_files_take_the_place_of_older_ones(which: int, sources: Path, tmp_path: Path) -> None:
    where = f"icechunk:{tmp_path}/repo"
    ba.write(ba.combine([file(sources, i) for i in range(3)], "time"), where)
    (tmp_path / "new").mkdir()
    ba.append(where, [file(tmp_path / "new", which, -1)], "time", replace=True)
    wanted = expected(3)
    wanted[which] = -1
    np.testing.assert_array_equal(by_zarr(tmp_path / "repo")["v"][...], wanted)


@reads
def test_an_append_that_others_overtook_is_made_anew(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from byteatlas.manifest.foreign import icechunk as own

    where = f"icechunk:{tmp_path}/repo"
    ba.write(file(sources, 0), where)
    plain, others = own.write_icechunk, [file(sources, 1)]

    def overtaken(*arguments: Any, **more: Any) -> str:
        if others:
            added = others.pop()
            ba.append(where, [added], "time")
        return plain(*arguments, **more)

    monkeypatch.setattr(own, "write_icechunk", overtaken)
    ba.append(where, [file(sources, 2)], "time")
    np.testing.assert_array_equal(by_zarr(tmp_path / "repo")["v"][...], expected(3))


@reads
def test_versions_stamps_and_the_manifest_back(sources: Path, tmp_path: Path) -> None:
    where = f"icechunk:{tmp_path}/repo"
    snapshot = write_icechunk(file(sources, 0), tmp_path / "repo")
    repository = icechunk.Repository.open(icechunk.local_filesystem_storage(str(tmp_path / "repo")))
    repository.create_tag("v1", snapshot_id=snapshot)
    ba.write(file(sources, 1), where, mode="replace")
    found: Any
    for found in (ba.open(where, tag="v1"), ba.open(where, snapshot=snapshot), ba.open(f"{where}?tag=v1")):
        np.testing.assert_array_equal(found["v"][...], expected(1))
    np.testing.assert_array_equal(ba.open(where, branch="main")["v"][...], expected(2)[1:])
    with pytest.raises(ba.BadRequest, match="one of branch, tag and snapshot"):
        ba.load(where, tag="v1", branch="main")
    with pytest.raises(ba.NotFound):
        ba.load(where, tag="v2")
    with pytest.raises(ba.BadRequest, match="only branches can be written to"):
        ba.write(file(sources, 0), f"{where}?tag=v1")
    node: Any = ba.load(where)
    columns = node["v"].manifest.load()
    assert [(s.size, s.stamp is None) for s in columns.sources if "bin" in s.url] == [(24, False)]
    ba.write(node, tmp_path / "back.json")
    np.testing.assert_array_equal(ba.open(tmp_path / "back.json")["v"][...], expected(2)[1:])


@reads
def test_relative_locations(sources: Path, tmp_path: Path) -> None:
    write_icechunk(file(sources, 0), tmp_path / "repo", IcechunkOptions(relative=True))
    np.testing.assert_array_equal(by_zarr(tmp_path / "repo")["v"][...], expected(1))
    repository = icechunk.Repository.open(icechunk.local_filesystem_storage(str(tmp_path / "repo")))
    containers = repository.config.virtual_chunk_containers
    assert {c.name for c in containers.values()} == {"source-0"}
    root: Any = ba.open(tmp_path / "repo")
    np.testing.assert_array_equal(root["v"][...], expected(1))


@reads
def test_from_the_shell(sources: Path, tmp_path: Path) -> None:
    for i in range(3):
        ba.write(file(sources, i), tmp_path / f"m{i}.json")
    repo = f"icechunk:{tmp_path}/repo"
    assert run(["combine", f"{tmp_path}/m0.json", f"{tmp_path}/m1.json", "-o", repo, "-c", "time"]) == 0
    assert run(["combine", f"{tmp_path}/m0.json", f"{tmp_path}/m1.json", "-o", repo, "-c", "time"]) == 5
    assert run(["append", repo, f"{tmp_path}/m2.json", "-c", "time"]) == 0
    np.testing.assert_array_equal(by_zarr(tmp_path / "repo")["v"][...], expected(3))
    assert run(["info", repo]) == 0
    assert run(["convert", f"{tmp_path}/m0.json", repo, "--mode", "replace"]) == 0
    np.testing.assert_array_equal(by_zarr(tmp_path / "repo")["v"][...], expected(1))
