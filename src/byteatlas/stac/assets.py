"""Assets of an item: the map or store itself, and the files that it leads to."""

from __future__ import annotations

from byteatlas.errors import BadRequest
from byteatlas.io.urls import last_link
from byteatlas.manifest.facts import sources_of
from byteatlas.manifest.model import VirtualNode
from byteatlas.masking import without_secrets
from byteatlas.types import JSON

ZARR = "application/vnd.zarr"
SUFFIXES = {
    ".json": "application/json", ".parquet": "application/vnd.apache.parquet",
    ".parq": "application/vnd.apache.parquet", ".zarr": ZARR,
    ".nc": "application/netcdf", ".nc4": "application/netcdf", ".h5": "application/x-hdf5",
    ".hdf5": "application/x-hdf5", ".he5": "application/x-hdf5", ".hdf": "application/x-hdf",
    ".tif": "image/tiff; application=geotiff", ".tiff": "image/tiff; application=geotiff",
    ".grib": "application/wmo-GRIB2", ".grib2": "application/wmo-GRIB2", ".grb2": "application/wmo-GRIB2",
    ".fits": "application/fits", ".zip": "application/zip", ".zst": "application/zstd", ".gz": "application/gzip",
}  # fmt: skip
MAPS = ("application/json", "application/vnd.apache.parquet", "application/zstd", "application/gzip")


def main_asset(href: str, title: str | None) -> dict[str, JSON]:
    """The asset of what is described. Raises `BadRequest` for a URL that holds a secret."""
    if without_secrets(href) != href:
        raise BadRequest("the URL holds a password or a signature, and items are for others: give href")
    media = ZARR if href.startswith("icechunk:") else media_of(href)
    roles: list[JSON] = ["data", "references"] if media in MAPS or href.startswith("icechunk:") else ["data"]
    found: dict[str, JSON] = {"href": href, "roles": roles}
    if media is not None:
        found["type"] = media
    if title:
        found["title"] = title
    return found


def source_assets(node: VirtualNode, most: int) -> dict[str, JSON]:
    """An asset for each file that a map leads to. Raises `BadRequest` for more than ``most``, and for secrets."""
    urls = sorted(sources_of(node))
    if len(urls) > most:
        raise BadRequest(f"the map leads to {len(urls)} files, more than {most} assets")
    if any(without_secrets(url) != url for url in urls):
        raise BadRequest("the URLs of files hold passwords or signatures, and items are for others")
    width = len(str(len(urls)))
    return {f"source-{i:0{width}}": _source(url) for i, url in enumerate(urls, 1)}


def _source(url: str) -> JSON:
    media = media_of(url)
    return {"href": url, "roles": ["data", "source"], **({} if media is None else {"type": media})}


def media_of(url: str) -> str | None:
    """The media type of a file by its suffix; None for one that is not known."""
    name = last_link(url).partition("?")[0].rstrip("/").rpartition("/")[2].lower()
    return SUFFIXES.get(f".{name.rpartition('.')[2]}") if "." in name else None
