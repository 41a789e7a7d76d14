"""What others read from the server is what we read: zarr-python, xarray, obstore, GDAL, zarrita.js, a browser."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.archives import small_archive
from tests.places import ROOT
from tests.serving import served

import byteatlas as ba

VERSIONS = ("v2", "v3")
NODE_MODULES = Path(os.environ.get("BYTEATLAS_NODE_MODULES", ROOT / "node_modules"))
"""A folder in which npm has installed zarrita."""


@pytest.fixture(scope="module")
def map_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of files that differ in encoding, packing and chunks, combined."""
    target = tmp_path_factory.mktemp("maps") / "sea.json"
    ba.write(ba.combine([str(f) for f in small_archive()], "time"), target)
    return target


@pytest.fixture(scope="module")
def url(map_file: Path) -> Iterator[str]:
    with served(str(map_file), "--filters") as found:
        yield f"{found}/sea"


@pytest.fixture(scope="module")
def ours(map_file: Path) -> Mapping[str, NDArray[Any]]:
    root = ba.open(map_file)
    assert isinstance(root, ba.Group)
    return {path: node[...] for path, node in root.walk() if isinstance(node, ba.Array)}


def check(root: Any, ours: Mapping[str, NDArray[Any]]) -> None:
    assert len(ours) == 9
    for path, values in ours.items():
        found = root[path][...]
        assert found.dtype == values.dtype, path
        np.testing.assert_array_equal(found, values, err_msg=path)


@pytest.mark.parametrize("version", VERSIONS)
def test_zarr_python_over_fsspec(url: str, version: str, ours: Mapping[str, NDArray[Any]]) -> None:
    import zarr

    check(zarr.open_group(f"{url}/{version}", mode="r"), ours)


@pytest.mark.parametrize("version", VERSIONS)
def test_zarr_python_over_obstore(url: str, version: str, ours: Mapping[str, NDArray[Any]]) -> None:
    import zarr
    from obstore.store import HTTPStore
    from zarr.storage import ObjectStore

    store = HTTPStore.from_url(f"{url}/{version}", client_options={"allow_http": True})
    check(zarr.open_group(ObjectStore(store, read_only=True), mode="r"), ours)


@pytest.mark.parametrize("group", [None, "atmosphere", "quality"])
@pytest.mark.parametrize("version", VERSIONS)
def test_xarray(url: str, version: str, group: str | None, map_file: Path) -> None:
    """Scale and offset are JSON numbers to its Zarr engine, so that it computes in float64: packed values compare."""
    import xarray

    raw = partial(xarray.open_dataset, group=group, mask_and_scale=False)
    with raw(f"{url}/{version}", engine="zarr") as found, raw(map_file, engine="byteatlas") as known:
        assert set(found.variables) == set(known.variables)
        xarray.testing.assert_equal(found, known)
    with (
        xarray.open_dataset(f"{url}/{version}", engine="zarr", group=group) as found,
        xarray.open_dataset(map_file, engine="byteatlas", group=group) as known,
    ):
        for name in known.data_vars:
            np.testing.assert_array_equal(np.isnan(found[name]), np.isnan(known[name]), err_msg=str(name))


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(shutil.which("gdalinfo") is None, reason="GDAL's programs are not installed")
def test_gdal(map_file: Path, ours: Mapping[str, NDArray[Any]], tmp_path: Path) -> None:
    """Version 2, without filters: GDAL 3.6 has no shuffle, and reads a draft of version 3 only."""
    import tifffile

    with served(str(map_file)) as url:
        place = f'ZARR:"/vsicurl/{url}/sea/v2"'
        structure = json.loads(run("gdalmdiminfo", place))
        assert set(structure["arrays"]) == {"time", "lat", "lon", "crs", "sst"}
        assert set(structure["groups"]) == {"atmosphere", "quality"}
        for path in ("sst", "atmosphere/t2m", "atmosphere/u10"):
            target = tmp_path / "a.tif"
            run("gdal_translate", "-q", f"{place}:/{path}:3", str(target))
            found = tifffile.imread(target)
            assert found.dtype == ours[path].dtype
            assert any(np.array_equal(found[::step], ours[path][3], equal_nan=True) for step in (1, -1)), path


JAVASCRIPT = """
const wanted = %s;
const results = {};
for (const version of ["v2", "v3"]) {
  const store = await zarr.withConsolidatedMetadata(new zarr.FetchStore(BASE + "/" + version));
  for (const path of wanted) {
    const array = await zarr.open(zarr.root(store).resolve(path), { kind: "array" });
    const { data, shape } = await zarr.get(array);
    let sum = 0, there = 0;
    for (const value of data) { if (!Number.isNaN(value)) { sum += value; there += 1; } }
    results[version + "/" + path] = [array.dtype, shape, sum, there];
  }
}
"""
WANTED = ("sst", "atmosphere/t2m", "atmosphere/u10", "quality/level", "time", "lat")
needs_zarrita = pytest.mark.skipif(
    not (NODE_MODULES / "zarrita").is_dir(),
    reason="zarrita is not installed: npm install zarrita, and BYTEATLAS_NODE_MODULES names the folder",
)
needs_chromium = pytest.mark.skipif(shutil.which("chromium") is None, reason="Chromium is not installed")


def check_javascript(found: Mapping[str, Any], ours: Mapping[str, NDArray[Any]]) -> None:
    assert len(found) == 2 * len(WANTED)
    for key, (dtype, shape, total, there) in found.items():
        values = ours[key.partition("/")[2]]
        assert (dtype, tuple(shape)) == (values.dtype.name, values.shape), key
        numbers = values.astype(float)
        assert there == np.count_nonzero(~np.isnan(numbers))
        assert total == pytest.approx(float(np.nansum(numbers)), rel=1e-9), key


@needs_zarrita
@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_zarrita_in_node(url: str, ours: Mapping[str, NDArray[Any]], tmp_path: Path) -> None:
    (tmp_path / "node_modules").symlink_to(NODE_MODULES)
    script = tmp_path / "read.mjs"
    body = JAVASCRIPT % json.dumps(WANTED)
    script.write_text(
        f'import * as zarr from "zarrita";\nconst BASE = "{url}";{body}console.log(JSON.stringify(results));'
    )
    check_javascript(json.loads(run("node", str(script))), ours)


def browse(address: str, profile: Path, *options: str) -> str:
    """What a page has become when its scripts have done their work."""
    return run(
        "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
        f"--user-data-dir={profile}", "--virtual-time-budget=20000", *options, "--dump-dom", address,
    )  # fmt: skip


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@needs_zarrita
@needs_chromium
def test_zarrita_in_a_page_of_another_origin(url: str, ours: Mapping[str, NDArray[Any]], tmp_path: Path) -> None:
    """The page comes from another port: the server has to allow it."""
    (tmp_path / "m").symlink_to(NODE_MODULES)
    imports = {}
    for package in ("zarrita", "@zarrita/storage", "fflate", "reference-spec-reader", "unzipit", "numcodecs"):
        about = json.loads((NODE_MODULES / package / "package.json").read_text())
        for name, target in _entries(about.get("exports") or {".": about.get("module") or about["main"]}):
            imports[package + name] = f"/m/{package}/{target}"
    head = f'<script type="importmap">{json.dumps({"imports": imports})}</script><pre id="out">waiting</pre>'
    body = JAVASCRIPT % json.dumps(WANTED)
    done = 'document.getElementById("out").textContent = "RESULT" + JSON.stringify(results) + "END";'
    script = f'<script type="module">import * as zarr from "zarrita"; const BASE = "{url}";\n{body}{done}</script>'
    (tmp_path / "page.html").write_text(f"<!doctype html>{head}{script}")
    pages = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    Thread(target=pages.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        text = browse(f"http://127.0.0.1:{pages.server_address[1]}/page.html", tmp_path / "profile")
    finally:
        pages.shutdown()
        pages.server_close()
    assert "RESULT{" in text, text[-2000:]
    check_javascript(json.loads(text.partition("RESULT")[2].partition("END")[0]), ours)


def _entries(exports: Any) -> Iterator[tuple[str, str]]:
    """The names that a package exports to browsers, and the files."""
    entries = exports if isinstance(exports, dict) and all(k.startswith(".") for k in exports) else {".": exports}
    for name, target in entries.items():
        while isinstance(target, dict):
            target = next((target[k] for k in ("browser", "import", "module", "default") if k in target), None)
        if isinstance(target, str) and "*" not in name:
            yield name.removeprefix("."), target.removeprefix("./")


@needs_chromium
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_in_a_browser(url: str, width: int, tmp_path: Path) -> None:
    """Pictures come, nothing fails, and the snippets name this server."""
    for turn in range(5):  # the browser's own clock may run out while a busy machine still draws
        text = browse(f"{url}/", tmp_path / f"profile{turn}", f"--window-size={width},4000")
        if text.count('src="data:image/png;base64,') >= 3:
            break
    assert text.count('src="data:image/png;base64,') >= 3
    assert 'class="fault"' not in text
    assert f'<span class="here">{url}/</span>v3' in text
    assert text.count('role="tab"') >= 4
    assert 'type="range"' in text
