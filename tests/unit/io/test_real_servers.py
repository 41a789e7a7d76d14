"""Servers that others made: nginx, and Python's own, which gives no parts."""

from __future__ import annotations

import functools
import http.server
import json
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import byteatlas as ba
from byteatlas.errors import ByteatlasError, FetchFailed
from byteatlas.io.open import open_source
from byteatlas.io.retry import Retry
from byteatlas.types import ByteRange

h5py = pytest.importorskip("h5py")
VALUES = np.arange(40 * 30, dtype="i4").reshape(40, 30)
VALUES[:10, :10] = 0
"""The first chunk is one that stores leave out."""
QUICK = ba.Access(retry=Retry(wait=0.01, tries=2))
PAGE = "<!DOCTYPE html><title>Log in</title>" + "please " * 2000
CONFIG = """
worker_processes 1; pid {root}/nginx.pid; error_log {root}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log off; types {{ text/html html; }} default_type application/octet-stream;
  client_body_temp_path {root}/t1; proxy_temp_path {root}/t2; fastcgi_temp_path {root}/t3;
  uwsgi_temp_path {root}/t4; scgi_temp_path {root}/t5;
  gzip on; gzip_types application/json application/octet-stream; gzip_min_length 1;
  server {{
    listen 127.0.0.1:{port}; root {root}/files;
    location /whole/ {{ alias {root}/files/; max_ranges 0; }}
    location /mislabelled/ {{ alias {root}/files/; types {{ }} default_type text/html; }}
    location /listed/ {{ alias {root}/files/; autoindex on; }}
    location /private/ {{ alias {root}/files/; auth_basic "x"; auth_basic_user_file {root}/nobody; }}
    location /portal/ {{ rewrite ^ /login.html break; }}
    location /sent/ {{ return 302 http://localhost:{port}/login.html; }}
    location /sent-to-nothing/ {{ return 302 http://localhost:{port}/no-such-login; }}
    location /signed/ {{ rewrite ^/signed/(.*)$ http://localhost:{port}/$1?Signature=x redirect; }}
    location /busy/ {{ return 503; }}
  }}
}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files: Path = tmp_path_factory.mktemp("servers") / "files"
    files.mkdir()
    with h5py.File(files / "a.h5", "w") as file:
        file.create_dataset("v", data=VALUES, chunks=(10, 10), compression="gzip")
    ba.write(ba.scan(files / "a.h5"), files / "a.json", options=ba.MapWriteOptions(relative=True))
    ba.write(ba.scan(files / "a.h5"), files / "a.parquet", options=ba.MapWriteOptions(relative=True))
    for name, options in {"v2.zarr": ba.CopyOptions(zarr_format=2), "v3.zarr": ba.CopyOptions()}.items():
        ba.copy(files / "a.h5", files / name, options=options)
        for chunk in (files / name / "v" / "0.0", files / name / "v" / "c" / "0" / "0"):
            chunk.unlink(missing_ok=True)
        _unconsolidated(shutil.copytree(files / name, files / f"u{name}"))
    (files / "login.html").write_text(PAGE)
    return files


def _unconsolidated(store: Path) -> None:
    (store / ".zmetadata").unlink(missing_ok=True)
    if (store / "zarr.json").exists():
        document = json.loads((store / "zarr.json").read_text())
        del document["consolidated_metadata"]
        (store / "zarr.json").write_text(json.dumps(document))


@pytest.fixture(scope="module")
def nginx(folder: Path) -> Iterator[str]:
    command = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin:/opt/homebrew/bin")
    if command is None:
        pytest.skip("nginx is not installed")
    root = folder.parent
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (root / "nobody").write_text("")
    rights = "user root;" if os.geteuid() == 0 else ""  # else it takes those of another user, who may not read there
    (root / "nginx.conf").write_text(rights + CONFIG.format(root=root, port=port))
    server = subprocess.Popen(
        [command, "-p", str(root), "-c", str(root / "nginx.conf"), "-g", "daemon off;"], stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(500):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.02)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(20)


@pytest.fixture(scope="module")
def python(folder: Path) -> Iterator[str]:
    """``python -m http.server``, which answers a request for a part with the whole file."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    handler = functools.partial(Handler, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(params=["nginx", "nginx/whole", "nginx/mislabelled", "nginx/listed", "nginx/signed", "python"])
def base(request: pytest.FixtureRequest) -> str:
    server, _, location = str(request.param).partition("/")
    return f"{request.getfixturevalue(server)}/{location}".rstrip("/")


def values(node: Any) -> Any:
    return np.asarray(node["v"][...])


def test_archives_maps_and_arrays(base: str) -> None:
    np.testing.assert_array_equal(values(ba.open(ba.scan(f"{base}/a.h5", access=QUICK))), VALUES)
    for name in ("a.json", "a.parquet"):
        np.testing.assert_array_equal(values(ba.open(f"{base}/{name}", access=QUICK)), VALUES)
    for name in ("v2.zarr", "v3.zarr"):
        array: Any = ba.open(f"{base}/{name}", path="v", access=QUICK)
        np.testing.assert_array_equal(array[...], VALUES)


def test_what_is_absent_is_absent(base: str) -> None:
    with pytest.raises(FetchFailed) as found:
        ba.scan(f"{base}/no.h5", access=QUICK)
    assert found.value.absent


@pytest.mark.parametrize("location", ["portal", "sent", "private", "sent-to-nothing", "busy"])
@pytest.mark.parametrize("name", ["a.h5", "a.json", "a.parquet", "v2.zarr", "v3.zarr"])
def test_what_is_no_file_is_an_error(nginx: str, location: str, name: str) -> None:
    with pytest.raises(ByteatlasError) as found:
        values(ba.open(f"{nginx}/{location}/{name}", access=QUICK))
    assert f"{nginx}/{location}/{name}" in str(found.value)


@pytest.mark.parametrize("location", ["portal", "sent", "private", "sent-to-nothing", "busy"])
def test_a_store_whose_chunks_are_elsewhere_does_not_read_as_fill(nginx: str, location: str) -> None:
    """The metadata are still there, and what stands before the chunks is no longer the server that it was."""
    source = open_source(f"{nginx}/{location}/v3.zarr/v/c/1/1", None, Retry(wait=0.01, tries=2))
    with pytest.raises(FetchFailed) as whole:
        source.read_all()
    with pytest.raises(FetchFailed) as part:
        source.read([ByteRange(0, 4)])
    assert not whole.value.absent
    assert not part.value.absent


@pytest.mark.parametrize("name", ["uv2.zarr", "uv3.zarr"])
def test_stores_without_consolidated_metadata(base: str, name: str) -> None:
    """Arrays are opened by their path; a folder that the server does not list is an error, and not an empty one."""
    root: Any = ba.open(f"{base}/{name}", access=QUICK)
    np.testing.assert_array_equal(root["v"][...], VALUES)
    assert "nothing" not in root
    if _lists(base):
        assert sorted(root) == ["v"]
    else:
        with pytest.raises(FetchFailed, match="open arrays by their path") as found:
            sorted(root)
        assert not found.value.absent


def _lists(base: str) -> bool:
    from urllib.error import HTTPError
    from urllib.request import urlopen

    try:
        with urlopen(f"{base}/") as answer:
            return bool(answer.status == 200)
    except HTTPError:
        return False


@pytest.mark.parametrize("name", ["v2.zarr", "v3.zarr"])
def test_consolidated_metadata_say_what_there_is(base: str, name: str) -> None:
    assert sorted(ba.open(f"{base}/{name}", access=QUICK)) == ["v"]
