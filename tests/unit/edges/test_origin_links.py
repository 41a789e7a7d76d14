"""Rights are not lent: through a linked file from the network, or a chain of URLs that ends at an allowed one."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.http_server import serve
from tests.unit.edges.test_origin import PUBLIC, SECRET, a_map, clean, hostile_archives, read_all, values

import byteatlas as ba
from byteatlas.errors import CorruptFile, Forbidden

h5py = pytest.importorskip("h5py")


def linking(folder: Path, url: str) -> Path:
    """A local file that links to one elsewhere."""
    path = folder / "mine.h5"
    with h5py.File(path, "w") as f:
        f["theirs"] = h5py.ExternalLink(url, "link")
        f["good"] = h5py.ExternalLink(url, "x")
    return path


def more_hostile_archives(folder: Path) -> dict[str, bytes]:
    found = hostile_archives(folder)
    with h5py.File(folder / "e.h5", "w") as f:
        layout = h5py.VirtualLayout((4,), "f4")
        layout[:] = h5py.VirtualSource(f"file://{folder / 'secret.h5'}", "v", (4,))
        f.create_virtual_dataset("link", layout, fillvalue=-1)
        f.create_dataset("x", data=PUBLIC)
    with h5py.File(folder / "f.h5", "w") as f:
        f.create_dataset("link", (4,), "f4", external=[(f"file://{folder / 'raw.bin'}", 0, 16)])
        f.create_dataset("x", data=PUBLIC)
    return found | {"/virtual-url.h5": (folder / "e.h5").read_bytes(), "/raw-url.h5": (folder / "f.h5").read_bytes()}


HOSTILE = ["/link.h5", "/virtual.h5", "/raw.h5", "/url.h5", "/virtual-url.h5", "/raw-url.h5"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_linked_file_from_the_network_leads_to_no_local_byte(name: str, tmp_path: Path) -> None:
    files = more_hostile_archives(tmp_path)
    with serve(files) as web, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mine = linking(tmp_path, web.url + name)
        vg = ba.scan(mine, options=ba.ScanOptions(inline_below=1 << 20))
        opened: Any = ba.open(vg)
        np.testing.assert_array_equal(opened["good"][...], PUBLIC)
        for root in (opened, ba.open(mine), ba.open(ba.load(mine))):
            assert clean(b"".join(a.tobytes() for a in read_all(root)))
        held: dict[str, Any] = {}
        ba.write(vg, held)
        assert clean(json.dumps(held))
        assert "secret" not in json.dumps(held)
        assert "raw.bin" not in json.dumps(held)


@pytest.mark.parametrize("name", ["/url.h5", "/virtual-url.h5", "/raw-url.h5"])
def test_the_caller_can_permit_what_a_linked_file_names(name: str, tmp_path: Path) -> None:
    files = more_hostile_archives(tmp_path)
    with serve(files) as web:
        mine = linking(tmp_path, web.url + name)
        root: Any = ba.open(mine, policy=ba.Policy(local=True))
        np.testing.assert_array_equal(root["theirs"][...], SECRET)


@pytest.mark.parametrize("name", ["/url.h5", "/virtual-url.h5", "/raw-url.h5"])
def test_the_caller_can_permit_what_an_archive_from_the_network_names(name: str, tmp_path: Path) -> None:
    with serve(more_hostile_archives(tmp_path)) as web:
        for policy in (ba.Policy(local=True), ba.Policy(allow=["/", f"{web.url}/"])):
            root: Any = ba.open(web.url + name, policy=policy)
            np.testing.assert_array_equal(root["link"][...], SECRET)


def test_an_absolute_path_in_a_linked_file_is_its_servers(tmp_path: Path) -> None:
    files = hostile_archives(tmp_path)
    with serve(files) as web:
        files[str(tmp_path / "raw.bin")] = (PUBLIC + 7).tobytes()
        root: Any = ba.open(linking(tmp_path, web.url + "/raw.h5"))
        np.testing.assert_array_equal(root["theirs"][...], PUBLIC + 7)


def test_what_the_scanned_file_may_name_is_not_lost_to_the_linked_one(tmp_path: Path) -> None:
    """Both name the same local file by the same URL: the one may, the other may not."""
    files = more_hostile_archives(tmp_path)
    secret = f"file://{tmp_path / 'secret.h5'}"
    with serve(files) as web, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mine = linking(tmp_path, web.url + "/url.h5")
        with h5py.File(mine, "a") as f:
            f["own"] = h5py.ExternalLink(secret, "v")
        root: Any = ba.open(mine)
        np.testing.assert_array_equal(root["own"][...], SECRET)
        assert "theirs" not in list(root)


@pytest.mark.parametrize("local", [None, True, False])
@pytest.mark.parametrize(
    "chain",
    ["reference://v/0::{web}/refs.json", "tar://x::reference://v/0::{web}/refs.json", "local://{path}::{web}/x"],
)
def test_no_chain_leads_out_of_what_is_allowed(chain: str, local: bool | None, tmp_path: Path) -> None:
    path = tmp_path / "secret.bin"
    path.write_bytes(SECRET.tobytes())
    files = {"/refs.json": json.dumps({"version": 1, "refs": {"v/0": [str(path)]}}).encode(), "/x": bytes(16)}
    with serve(files) as web:
        files["/a.json"] = a_map(chain.format(web=web.url, path=path))
        with pytest.raises(Forbidden):
            values(ba.open(f"{web.url}/a.json", policy=ba.Policy(allow=[f"{web.url}/"], local=local)))


def test_archives_and_caches_in_front_of_an_allowed_url_are_allowed() -> None:
    policy = ba.Policy(allow=["https://host/"])
    for url in ("zip://a::https://host/a.zip", "simplecache::https://host/a", "simplecache::zip://a::https://host/z"):
        policy.check(url)
    for url in ("generic://x::https://host/a", "simplecache:///etc::https://host/a", "dir::https://host/a"):
        with pytest.raises(Forbidden):
            policy.check(url)
    ba.Policy(allow=["dir::https://host/"]).check("dir::https://host/a")
    with pytest.raises(Forbidden, match="denied"):
        ba.Policy(deny=["/secret"]).check("local:///secret/x::https://host/a")


@pytest.mark.parametrize("link", ["zip", "tar"])
def test_an_archive_that_is_none_is_a_corrupt_file(link: str) -> None:
    with serve({"/x": b"no archive " * 100}) as web, pytest.raises(CorruptFile, match="/x"):
        ba.open(f"{link}://a.nc::{web.url}/x")
