"""The shared corpora against the truth that the formats' own libraries gave: never wrong, nearly always right.

The programs beside the corpora score each file in a process of its own; here all are read in this one.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.places import ROOT, load_program

import byteatlas as ba

SHARED = ROOT.parent / "shared"
pytestmark = [
    pytest.mark.skipif(not (SHARED / "corpus").is_dir(), reason="the shared corpora are not here"),
    pytest.mark.filterwarnings("ignore"),
]


def program(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """One of the scoring programs, as a module."""
    monkeypatch.syspath_prepend(str(SHARED / "score"))
    return load_program(SHARED / "score" / f"{name}.py")


def read(node: Any) -> np.ndarray[Any, Any] | ba.ByteatlasError:
    try:
        return np.asarray(node[...])
    except ba.ByteatlasError as error:
        return error


def outcomes_of_file(path: Path, truth: dict[str, Any], verdict: Any) -> Counter[str]:
    """How each dataset of one HDF5 or netCDF file compares with its truth."""
    found: Counter[str] = Counter()
    try:
        tree = ba.open(ba.scan(path, on_refusal="ignore"))
    except ba.ByteatlasError:
        found["error"] = sum("sha_raw" in d for d in truth["datasets"])
        return found
    assert isinstance(tree, ba.Group)
    nodes = {name: node for name, node in tree.walk() if isinstance(node, ba.Array)}
    for dataset in truth["datasets"]:
        if "sha_raw" not in dataset or dataset.get("nc_dim") or dataset.get("cat") in ("ref", "null", "time"):
            continue
        names = [n.strip("/") for n in (dataset["path"], *dataset.get("aliases", ())) if n.strip("/") in nodes]
        values = read(nodes[names[0]]) if names else None
        if isinstance(values, np.ndarray):
            found[verdict(dataset, values)[0]] += 1
        else:
            found["error" if values is not None else "missing"] += 1
    return found


@pytest.mark.parametrize(("kind", "least"), [("hdf5", 0.985), ("netcdf4", 0.999), ("netcdf3", 1.0)])
def test_hdf_and_netcdf(kind: str, least: float, monkeypatch: pytest.MonkeyPatch) -> None:
    verdict = program("hdf_common", monkeypatch).verdict
    truth = json.loads((SHARED / "corpus" / "hdf_truth.json").read_text())["files"]
    index = json.loads((SHARED / "corpus" / "hdf_corpus.json").read_text())
    files = [e for e in index if e["format"] == kind and (SHARED / "corpus" / "hdf" / e["local"]).exists()]
    total: Counter[str] = Counter()
    for entry in files:
        if truth[entry["id"]]["status"] != "ok":
            continue
        path = SHARED / "corpus" / "hdf" / entry["local"]
        monkeypatch.chdir(path.parent)
        one = outcomes_of_file(path, truth[entry["id"]], verdict)
        assert not one["wrong"], (entry["local"], one)
        total += one
    right = total["right"] + total["right_dtype"]
    assert right >= least * sum(total.values()), total
    assert right > 30


def test_tiff(monkeypatch: pytest.MonkeyPatch) -> None:
    score, common = program("raster_score", monkeypatch), program("raster_common", monkeypatch)
    reader = program("readers/byteatlas_raster", monkeypatch)
    truth = json.loads(Path(common.TRUTH_FILE).read_text())
    total: Counter[str] = Counter()
    for entry in common.load_index("tiff"):
        path, known = Path(common.CORPUS) / entry["local"], truth[entry["id"]]
        if known.get("bad") or not path.is_file():
            continue
        try:
            found: Any = reader.arrays(str(path))
        except ba.ByteatlasError as error:
            found = str(error)
        for place, outcome in score.score_tiff(known, found).items():
            assert not outcome.startswith("wrong"), (entry["local"], place, outcome)
            total[outcome.split(":")[0]] += 1
    assert total["right"] > 30, total
    assert total["right"] >= 0.975 * sum(total.values()), total


def test_georeferences() -> None:
    """Transforms and coordinate reference systems are those that GDAL reads."""
    pyproj = pytest.importorskip("pyproj")
    truth = json.loads((SHARED / "corpus" / "raster_georef.json").read_text())
    places = {e["id"]: e["local"] for e in json.loads((SHARED / "corpus" / "raster_corpus.json").read_text())}
    compared = 0
    for name, known in truth.items():
        path = SHARED / "corpus" / "raster" / places[name]
        if not path.is_file() or not (known.get("wkt2") or known.get("geotransform")):
            continue
        root = ba.open(path)
        assert isinstance(root, ba.Group)
        mapping = next(dict(node.attrs) for at, node in root.walk() if at.endswith("spatial_ref"))
        if known.get("geotransform"):
            ours = [float(v) for v in mapping["GeoTransform"].split()]
            assert ours == pytest.approx(known["geotransform"], rel=1e-12, abs=1e-12), path
        if known.get("wkt2"):
            compared += 1
            assert pyproj.CRS.from_wkt(mapping["crs_wkt"]) == pyproj.CRS.from_wkt(known["wkt2"]), path
    assert compared > 100


def test_zarr_stores(tmp_path: Path) -> None:
    out = tmp_path / "score.json"
    command = [sys.executable, str(SHARED / "score" / "zarr_score.py"), str(SHARED / "corpus" / "zarr")]
    command += [str(SHARED / "score" / "readers" / "byteatlas_zarr.py"), "--python", sys.executable, "--json", str(out)]
    with warnings.catch_warnings():
        subprocess.run(command, check=True, capture_output=True, timeout=300)
    results = json.loads(out.read_text())["results"]
    good = Counter(r["c"] for r in results if "bad" not in r["tags"])
    bad = [r for r in results if "bad" in r["tags"] and r["c"] != "ok"]
    assert good["wrong"] == 0, [r for r in results if r["c"] == "wrong"]
    assert good["pass"] + good["loose"] >= 0.985 * sum(good.values()), good
    assert not bad
