"""The commands on maps, through the shell's own entry."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.http_server import serve
from tests.maps import array, references

import byteatlas as ba
from byteatlas.array import open_node
from byteatlas.cli.app import run
from byteatlas.manifest.facts import sources_of
from byteatlas.manifest.model import Inline, VirtualGroup
from byteatlas.manifest.references import read_references, write_references

VALUES = np.arange(24, dtype="<f4")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("x.bin").write_bytes(bytes(100) + VALUES.tobytes())
    x = array((24,), (6,), url=str(tmp_path / "x.bin"), dimension_names=("t",))
    write_references(VirtualGroup(arrays={"x": x}, groups={"g": VirtualGroup(arrays={"y": x})}), "a.json")
    return tmp_path


def read(target: str, path: str = "x") -> list[float]:
    values: list[float] = open_node(read_references(target), path=path)[...].tolist()  # type: ignore[index]
    return values


def test_convert_and_diff(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["convert", "a.json", "b.parquet", "--record-size", "3"]) == 0
    assert run(["convert", "b.parquet", "c.json.zst", "--relative"]) == 0
    assert run(["diff", "a.json", "c.json.zst"]) == 0
    assert read("c.json.zst", "g/y") == VALUES.tolist()
    capsys.readouterr()
    assert run(["rename", "a.json", "d.json", "--prefix", f"{here}=s3://bucket"]) == 0
    assert run(["diff", "a.json", "d.json"]) == 1
    assert "4 of 4 differ" in capsys.readouterr().out
    assert run(["diff", "a.json", "d.json", "--json"]) == 1
    assert [d["path"] for d in json.loads(capsys.readouterr().out)] == ["x", "g/y"]
    assert run(["diff", "a.json", "d.json", "--metadata-only"]) == 0
    assert run(["rename", "d.json", "e.json", "--regex", "^s3://bucket", str(here)]) == 0
    assert run(["diff", "a.json", "e.json"]) == 0
    assert run(["rename", "d.json", "e.json", "--prefix", "nonsense"]) == 2
    assert run(["convert", "nothing.json", "x.json"]) == 4


def test_the_version_of_a_json_map_is_chosen(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for version, name in (("2", ".zarray"), ("3", "zarr.json")):
        assert run(["convert", "a.json", f"v{version}.json", "--zarr-format", version]) == 0
        refs = json.loads(Path(f"v{version}.json").read_text())["refs"]
        assert {f"x/{name}", f"g/y/{name}"} <= refs.keys()
        assert read(f"v{version}.json") == VALUES.tolist()
    assert run(["convert", "a.json", "v3.parquet", "--zarr-format", "3"]) == 2
    assert "Parquet maps have no form for version 3" in capsys.readouterr().err


def test_inline_and_deinline(here: Path) -> None:
    assert run(["inline", "a.json", "b.json", "--array", "x"]) == 0
    inside = read_references("b.json")
    assert isinstance(inside, VirtualGroup)
    assert all(isinstance(r, Inline) for r in references(inside.arrays["x"]).values())
    assert not any(isinstance(r, Inline) for r in references(inside.groups["g"].arrays["y"]).values())
    (here / "x.bin").unlink()
    assert read("b.json") == VALUES.tolist()
    assert run(["deinline", "b.json", "c.parquet"]) == 0
    assert (here / "c.parquet.bin").read_bytes() == VALUES.tobytes()
    assert read("c.parquet") == VALUES.tolist()


def test_consolidate(here: Path) -> None:
    assert run(["consolidate", "a.json", "b.json"]) == 0
    refs = json.loads((here / "b.json").read_text())["refs"]
    assert set(json.loads(refs[".zmetadata"])["metadata"]) == {k for k in refs if "/.z" in k or k == ".zgroup"}
    assert run(["diff", "a.json", "b.json"]) == 0
    alone = {k: v for k, v in refs.items() if not k.endswith((".zarray", ".zattrs", ".zgroup"))}
    (here / "c.json").write_text(json.dumps({"version": 1, "refs": alone}))
    assert run(["diff", "a.json", "c.json"]) == 0


def test_split(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["split", "a.json", "parts", "--by", "array", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"written": ["parts/x.json", "parts/g.y.json"]}
    assert read("parts/g.y.json", "g/y") == VALUES.tolist()
    assert run(["split", "a.json", "cut", "--along", "t", "--every", "12", "--format", "parquet"]) == 0
    assert read("cut/t-1.parquet") == VALUES[12:].tolist()
    assert run(["split", "a.json", "cut", "--along", "t"]) == 2
    assert run(["split", "a.json", "cut", "--along", "t", "--every", "5"]) == 2


def test_stats(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["stats", "a.json"]) == 0
    assert "x" in capsys.readouterr().out
    assert run(["stats", "a.json", "--json"]) == 0
    assert [s["chunks"] for s in json.loads(capsys.readouterr().out)] == [4, 4]
    assert run(["stats", "a.json", "--array", "x"]) == 0
    assert "16 B to      32 B: 4 chunks" in capsys.readouterr().out
    assert run(["stats", "a.json", "--array", "x", "--slice", "0:7", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["chunks"] == 2
    assert run(["stats", "a.json", "--array", "x", "--slice", "a"]) == 2
    assert run(["stats", "a.json", "--array", "nope"]) == 4


def test_verify_sources(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "--sources", "a.json"]) == 0
    assert capsys.readouterr().out == "a.json: 1 source (1 there)\n"
    (here / "x.bin").unlink()
    assert run(["verify", "--sources", "a.json", "--json"]) == 1
    assert [s["state"] for s in json.loads(capsys.readouterr().out)] == ["vanished"]


@pytest.mark.parametrize("out", ["b.json", "b.parquet", "t.json"])
def test_secrets_in_urls_are_kept_where_that_is_asked_for(out: str, tmp_path: Path) -> None:
    url = "https://me:pass@host.example/x.bin?version=2&X-Amz-Signature=0af3&X-Amz-Date=now"
    source, target = tmp_path / "a.json", str(tmp_path / out)
    array = {"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<f4", "fill_value": 0, "order": "C"}
    metadata = json.dumps({**array, "filters": None, "compressor": None})
    source.write_text(json.dumps({".zgroup": '{"zarr_format": 2}', "x/.zarray": metadata, "x/0": [url, 0, 8]}))
    more = ["--templates"] if out == "t.json" else []
    assert run(["convert", str(source), target, *more]) == 0
    assert list(sources_of(ba.load(target))) == ["https://host.example/x.bin?version=2"]
    assert run(["convert", str(source), target, *more, "--keep-queries", "--overwrite"]) == 0
    assert list(sources_of(ba.load(target))) == [url]


def test_a_scan_and_a_combination_keep_secrets_where_that_is_asked_for(tmp_path: Path) -> None:
    pytest.importorskip("aiohttp")
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("t", data=np.arange(2.0)).make_scale("t")
        file.create_dataset("v", data=np.ones((2, 8)), chunks=(1, 8)).dims[0].attach_scale(file["t"])
    data = (tmp_path / "a.h5").read_bytes()
    one, both = str(tmp_path / "one.json"), str(tmp_path / "both.json")
    with serve({"/a.h5?token=abc": data, "/a.h5": data}) as served:
        url = f"{served.url}/a.h5?token=abc"
        for more, expected in (([], f"{served.url}/a.h5"), (["--keep-queries"], url)):
            assert run(["scan", url, "-o", one, "--overwrite", *more]) == 0
            assert list(sources_of(ba.load(one))) == [expected]
            assert run(["combine", url, "-o", both, "--concat", "t", "--overwrite", *more]) == 0
            assert expected in sources_of(ba.load(both))
    assert run(["combine", one, "-o", both, "--concat", "t", "--append", "--keep-queries"]) == 2


def test_a_scan_goes_on_where_maps_are_in_storage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["v"] = np.arange(3.0)
    command = ["scan", str(tmp_path / "a.h5"), "-o", f"memory://{tmp_path.name}/a.json", "--resume", "--json"]
    for resumed in (None, True):
        assert run(command) == 0
        assert json.loads(capsys.readouterr().out)[0].get("resumed") == resumed


def test_resampling_is_of_levels(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["copy", "a.json", "a.zarr", "--resampling", "mode"]) == 2
    assert "--levels" in capsys.readouterr().err
    assert not (here / "a.zarr").exists()
