"""What commands and verbs write never takes the place of anything but a map that is theirs to replace."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import byteatlas as ba
from byteatlas.cli.app import run
from byteatlas.manifest import references
from byteatlas.manifest.ops.inline import InlineOptions, inline
from byteatlas.manifest.targets import PARSED


def archive(path: Path, begin: int = 0) -> Path:
    with h5py.File(path, "w") as f:
        f["x"] = np.arange(begin, begin + 60.0)
    return path


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    archive(tmp_path / "a.nc")
    archive(tmp_path / "b.nc", 100)
    ba.write(ba.scan("a.nc"), "a.json")
    ba.write(ba.scan("b.nc"), "b.json")
    (tmp_path / "notes.json").write_text('{"title": "mine"}')
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "c.nc").write_bytes((tmp_path / "b.nc").read_bytes())
    (tmp_path / "folder.parquet").mkdir()
    (tmp_path / "folder.parquet" / "c.nc").write_bytes((tmp_path / "b.nc").read_bytes())
    (tmp_path / "table.parquet").write_bytes(b"PAR1 and so on")
    return tmp_path


def values(name: str) -> list[float]:
    opened: Any = ba.open(name)
    found: list[float] = opened["x"][...].tolist()
    return found


def everything(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


REFUSED = {
    "convert a.nc b.nc": "does not say which form",
    "convert a.json out": "does not say which form",
    "convert a.json out.zarr": "does not say which form",
    "convert a.json b.nc --format json": "no reference map",
    "convert a.json notes.json": "no reference map",
    "convert a.json notes.json --overwrite": "no reference map",
    "convert a.json folder.parquet": "c.nc",
    "convert a.json folder.parquet --overwrite": "c.nc",
    "convert a.json folder --format parquet": "c.nc",
    "convert a.json table.parquet": "is a file",
    "convert a.json table.parquet --overwrite": "is a file",
    "convert a.json folder --format json": "is a folder",
    "convert a.json b.json": "other files",
    "combine a.json -o b.nc": "does not say which form",
    "combine a.json -o notes.json": "no reference map",
    "combine a.json -o b.json": "other files",
    "combine b.json -o a.json": "other files",
    "rename a.json notes.json --prefix /=/mnt/": "no reference map",
    "inline a.json notes.json": "no reference map",
    "consolidate a.json notes.json": "no reference map",
    "select a.json notes.json x=1": "x",
    "deinline a.json c.json --side-file b.nc": "no side file",
    "deinline a.json c.json --side-file a.nc": "leads to",
    "deinline a.json c.json --side-file notes.json": "no side file",
    "model dump a.json -o b.nc": "no model",
    "model dump a.json -o notes.json": "no model",
    "model dump a.json -o a.json": "no model",
    "scan a.nc -o b.json": "other files",
    "scan a.nc -o notes.json": "no reference map",
    "scan a.nc -o notes.json --overwrite": "no reference map",
    "scan a.nc -o notes.txt/b": "",
    "split a.json notes.json --by array": "a folder was expected",
    "split a.json folder.parquet/c.nc --by array": "a folder was expected",
    "copy a.nc folder": "c.nc",
    "copy a.nc b.nc": "is a file",
    "model create a.json folder.parquet/c.nc": "is a file",
}


@pytest.mark.parametrize("command", REFUSED)
def test_commands_refuse(command: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "notes.txt").write_text("mine")
    before = everything(here)
    assert run(command.split()) not in (0, 1)
    error = capsys.readouterr().err
    assert REFUSED[command] in error
    assert "Traceback" not in error
    assert everything(here) == before


ALLOWED = [
    "convert a.json b.json --overwrite",
    "convert a.json a.json",
    "convert a.nc a.json",
    "convert a.json new.map --format json",
    "rename a.json a.json --prefix /=/mnt/",
    "combine a.json b.json -o a.json --concat x",
    "scan a.nc -o a.json",
    "scan b.nc -o a.json --overwrite",
    "scan a.nc -o .",
    "model dump a.json -o model.json",
]


@pytest.mark.parametrize("command", ALLOWED)
def test_commands_that_are_done_twice(command: str, here: Path) -> None:
    words = command.split()
    if "--concat" in words:
        words = ["combine", "a.json", "-o", "new.json"]
    assert run(words) == 0
    if "rename" not in words:
        assert run(words) == 0
    assert (here / "a.nc").read_bytes() != (here / "b.nc").read_bytes()
    assert not [p.name for p in here.iterdir() if p.name.startswith(".")]


@pytest.mark.parametrize("form", ["json", "json-v0", "parquet", "icechunk"])
@pytest.mark.parametrize("target", ["b.nc", "notes.json", "folder", "folder.parquet", "table.parquet"])
def test_no_form_replaces_what_is_no_map(form: Any, target: str, here: Path) -> None:
    if form == "icechunk":
        pytest.importorskip("icechunk")
    before = everything(here)
    with pytest.raises(ba.Conflict):
        ba.write(ba.scan("a.nc"), target, format=form)
    assert everything(here) == before


def test_a_link_to_a_source_is_the_source(here: Path) -> None:
    Path("other.json").symlink_to("a.nc")
    os.link("a.nc", "hard.json")
    before = everything(here)
    for name in ("other.json", "hard.json", "./folder/../other.json"):
        with pytest.raises(ba.BadRequest, match="has its bytes in"):
            ba.write(ba.scan("a.nc"), name)
    assert everything(here) == before


@pytest.mark.parametrize("name", ["m.json", "m.json.gz", "m.json.zst", "v0.json"])
def test_large_maps_are_known(name: str, here: Path) -> None:
    with h5py.File("many.h5", "w") as f:
        f.create_dataset("x", data=np.arange(20000), chunks=(2,))
    form: Any = "json-v0" if name == "v0.json" else None
    for _ in range(2):
        ba.write(ba.scan("many.h5"), name, format=form)
    ba.write(ba.scan("a.nc"), name, format=form)
    Path("large.json").write_text(json.dumps({"features": [{"name": "x" * 50} for _ in range(10_000)]}))
    with pytest.raises(ba.Conflict):
        ba.write(ba.scan("a.nc"), "large.json")


@pytest.mark.parametrize("form", ["json", "json-v0"])
def test_large_maps_that_hold_all_their_data_are_known(form: Any, here: Path) -> None:
    with h5py.File("noise.h5", "w") as f:
        f["x"] = np.random.default_rng(1).random(80_000)
    whole = inline(ba.scan("noise.h5"), ba.Access().pool(), InlineOptions(1 << 20))
    for _ in range(2):
        ba.write(whole, "inlined.json", format=form)
    assert Path("inlined.json").stat().st_size > PARSED
    ba.write(ba.scan("a.nc"), "inlined.json", format=form)
    assert values("inlined.json") == list(range(60))


@pytest.mark.parametrize(
    "document",
    [
        {"features": [{"tags": ["a"], "name": "x" * 50} for _ in range(10_000)]},
        {"metadata": {f"{i}/.zattrs": {"note": ["x" * 90]} for i in range(5_000)}, "zarr_consolidated_format": 1},
        {"steps": [{"next": [None], "range": ["x" * 50, 1, 2]} for _ in range(10_000)]},
    ],
)
def test_large_documents_with_lists_are_no_maps(document: Any, here: Path) -> None:
    text = json.dumps(document)
    Path("large.json").write_text(text)
    assert len(text) > PARSED
    with pytest.raises(ba.Conflict, match="no reference map"):
        ba.write(ba.scan("a.nc"), "large.json")
    assert Path("large.json").read_text() == text


@pytest.mark.parametrize("command", ["convert a.json", "scan a.nc -o"])
def test_a_target_that_cannot_be_looked_at_is_kept(
    command: str, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The storage fails just when the map that is there is to be read: that does not say that there is none."""
    real = references.read_references

    def failing(target: Any, **options: Any) -> Any:
        if str(target).endswith("b.json"):
            raise ba.FetchFailed(str(target), "503 Service Unavailable", transient=True)
        return real(target, **options)

    monkeypatch.setattr(references, "read_references", failing)
    before = everything(here)
    assert run([*command.split(), "b.json"]) != 0
    assert "503" in capsys.readouterr().err
    assert everything(here) == before


def test_maps_of_others_are_known(here: Path) -> None:
    for text in ('{"version": 1, "templates": {}, "refs": {}}', '{".zgroup": "{}"}', "{}", ""):
        Path("k.json").write_text(text)
        ba.write(ba.scan("a.nc"), "k.json")


def test_links_and_modes_stay(here: Path) -> None:
    ba.write(ba.scan("a.nc"), "real.json")
    ba.write(ba.scan("a.nc"), "real.parquet")
    Path("real.json").chmod(0o640)
    Path("real.parquet").chmod(0o750)
    Path("real.parquet/.zmetadata").chmod(0o600)
    for suffix in ("json", "parquet"):
        Path(f"link.{suffix}").symlink_to(f"real.{suffix}")
        ba.write(ba.scan("b.nc"), f"link.{suffix}")
        assert Path(f"link.{suffix}").is_symlink()
        assert values(f"real.{suffix}")[0] == 100
    assert stat.S_IMODE(Path("real.json").stat().st_mode) == 0o640
    assert stat.S_IMODE(Path("real.parquet").stat().st_mode) == 0o750
    assert stat.S_IMODE(Path("real.parquet/.zmetadata").stat().st_mode) == 0o600
    assert not [p.name for p in here.iterdir() if p.name.startswith(".")]


def test_long_names(here: Path) -> None:
    name = "é" * 120 + ".json"
    ba.write(ba.scan("a.nc"), name)
    ba.write(ba.scan("a.nc"), name)
    assert Path(name).exists()


def test_side_files_are_replaced_by_their_owner_alone(here: Path) -> None:
    assert run(["inline", "a.json", "in.json", "--below", "100000"]) == 0
    assert run(["inline", "b.json", "other.json", "--below", "100000"]) == 0
    for _ in range(2):
        assert run(["deinline", "in.json", "out.json", "--side-file", "s.bin"]) == 0
    before = Path("s.bin").read_bytes()
    assert run(["deinline", "other.json", "out2.json", "--side-file", "s.bin"]) == 5
    assert Path("s.bin").read_bytes() == before
    assert values("out.json") == list(range(60))


def test_resume_looks_whose_map_it_is(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "one").mkdir()
    (here / "two").mkdir()
    archive(here / "one" / "a.nc")
    archive(here / "two" / "a.nc", 7)
    assert run(["scan", "one/a.nc", "-o", "maps"]) == 0
    assert run(["scan", "one/a.nc", "-o", "maps", "--resume"]) == 0
    assert "was there already" in capsys.readouterr().out
    assert run(["scan", "two/a.nc", "-o", "maps", "--resume"]) == 5
    assert run(["scan", "two/a.nc", "-o", "maps", "--resume", "--overwrite"]) == 0
    assert values("maps/a.json")[0] == 7


def test_erasing_a_store_keeps_other_files(here: Path) -> None:
    store = here / "s.zarr"
    ba.copy("a.nc", store)
    ba.from_model(ba.to_model("b.nc"), store, overwrite=True)
    (store / "data.nc").write_bytes(b"mine")
    with pytest.raises(ba.Conflict, match=r"data\.nc"):
        ba.from_model(ba.to_model("b.nc"), store, overwrite=True)
    assert (store / "data.nc").read_bytes() == b"mine"


def test_remote_targets() -> None:
    import fsspec

    system = fsspec.filesystem("memory")
    system.pipe_file("/bucket-of-writes/a.json", b'{"mine": 1}')
    system.pipe_file("/bucket-of-writes/s.parquet/.zgroup", b'{"zarr_format": 2}')
    for name in ("a.json", "s.parquet"):
        with pytest.raises(ba.Conflict):
            ba.write(ba.VirtualGroup(), f"memory://bucket-of-writes/{name}")
    for _ in range(2):
        ba.write(ba.VirtualGroup(), "memory://bucket-of-writes/new.json")
        ba.write(ba.VirtualGroup(), "memory://bucket-of-writes/new.parquet")
    system.rm("/bucket-of-writes", recursive=True)


def test_new_folders_have_the_usual_mode(here: Path) -> None:
    (here / "usual").mkdir()
    ba.write(ba.scan("a.nc"), "new.parquet")
    assert Path("new.parquet").stat().st_mode == (here / "usual").stat().st_mode
