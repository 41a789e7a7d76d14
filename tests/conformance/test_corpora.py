"""The shared corpora against the truth that the formats' own libraries gave: never wrong, and right but for a list.

The programs beside the corpora score each file in a process of its own; here all are read in this one. What is not
right is in `lists`, by file and dataset, with the reason: it is compared exactly, so that an improvement shows as well.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
import warnings
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import imagecodecs
import numpy as np
import pytest
from tests.conformance.refused import Outcomes, compare, refused, why
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


def outcomes_of_file(path: Path, truth: dict[str, Any], verdict: Any) -> tuple[int, dict[str, str]]:
    """How many datasets of one HDF5 or netCDF file are right, and what the others are."""
    try:
        found = ba.scan(path, on_refusal="ignore")
        tree = ba.open(found)
    except ba.ByteatlasError as error:
        return 0, {"": why(error)}
    assert isinstance(tree, ba.Group)
    nodes = {name: node for name, node in tree.walk() if isinstance(node, ba.Array)}
    reasons = {item.path: item.reason or "" for item in found.report if item.status == "refused"}
    right, others = 0, {}
    for dataset in truth["datasets"]:
        if "sha_raw" not in dataset or dataset.get("nc_dim") or dataset.get("cat") in ("ref", "null", "time"):
            continue
        paths = [n.strip("/") for n in (dataset["path"], *dataset.get("aliases", ()))]
        names = [name for name in paths if name in nodes]
        values = read(nodes[names[0]]) if names else None
        if isinstance(values, np.ndarray):
            said = verdict(dataset, values)[0]
            right += said in ("right", "right_dtype")
            if said not in ("right", "right_dtype"):
                others[paths[0]] = said
        else:
            refusal = next((reasons[name] for name in paths if name in reasons), "missing")
            others[paths[0]] = refusal if values is None else why(values)
    return right, others


@pytest.mark.parametrize(("kind", "least"), [("hdf5", 1000), ("netcdf4", 1000), ("netcdf3", 200)])
def test_hdf_and_netcdf(kind: str, least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    verdict = program("hdf_common", monkeypatch).verdict
    truth = json.loads((SHARED / "corpus" / "hdf_truth.json").read_text())["files"]
    index = json.loads((SHARED / "corpus" / "hdf_corpus.json").read_text())
    files = [e for e in index if e["format"] == kind and (SHARED / "corpus" / "hdf" / e["local"]).exists()]
    total, outcomes = 0, Outcomes()
    for entry in files:
        if truth[entry["id"]]["status"] != "ok":
            continue
        path = SHARED / "corpus" / "hdf" / entry["local"]
        monkeypatch.chdir(path.parent)
        right, outcomes[entry["local"]] = outcomes_of_file(path, truth[entry["id"]], verdict)
        assert "wrong" not in outcomes[entry["local"]].values(), entry["local"]
        total += right
    assert total >= least
    compare(kind, outcomes)


def test_tiff(monkeypatch: pytest.MonkeyPatch) -> None:
    score, common = program("raster_score", monkeypatch), program("raster_common", monkeypatch)
    reader = program("readers/byteatlas_raster", monkeypatch)
    truth = json.loads(Path(common.TRUTH_FILE).read_text())
    total, outcomes = 0, Outcomes()
    for entry in common.load_index("tiff"):
        path, known = Path(common.CORPUS) / entry["local"], truth[entry["id"]]
        if known.get("bad") or not path.is_file():
            continue
        try:
            found: Any = reader.arrays(str(path))
        except ba.ByteatlasError as error:
            found = str(error)
        others = outcomes[entry["local"]] = {}
        for place, outcome in score.score_tiff(known, found).items():
            assert not outcome.startswith("wrong"), (entry["local"], place, outcome)
            total += outcome == "right"
            if outcome != "right":
                others[place] = outcome.replace(str(path), entry["local"])
    assert total >= 500
    compare("tiff", outcomes)


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of GRIB, FITS and HDF4, which are kept packed."""
    folder = tmp_path_factory.mktemp("corpus")
    packed = (SHARED / "corpus" / "raster" / "grib-fits-hdf4.tar.zst").read_bytes()
    with tarfile.open(fileobj=io.BytesIO(imagecodecs.zstd_decode(packed))) as archive:
        if hasattr(tarfile, "data_filter"):  # from Python 3.11.4 on
            archive.extraction_filter = tarfile.data_filter
        archive.extractall(folder)
    return folder


@pytest.mark.parametrize("kind", ["grib1", "grib2", "fits", "hdf4"])
def test_what_is_refused_of_other_formats(kind: str, unpacked: Path) -> None:
    index = json.loads((SHARED / "corpus" / "raster_corpus.json").read_text())
    names = [e["local"] for e in index if e["format"] == kind]
    assert len(names) > 70
    compare(kind, {name: refused(unpacked / name) for name in names})


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
    assert good["pass"] + good["loose"] > 200, good
    assert not bad
    compare(
        "zarr", {r["id"]: {"": r["c"]} for r in results if "bad" not in r["tags"] and r["c"] not in ("pass", "loose")}
    )
