"""Whether a URL of object storage is opened through obstore, and how."""

from __future__ import annotations

from importlib.util import find_spec

from byteatlas.errors import BadRequest, FetchFailed
from byteatlas.io.credentials.asking import AskedOptions
from byteatlas.io.sources.objects.options import AZURE, GCS, KINDS, S3, Untranslatable
from byteatlas.io.sources.objects.profiles import AskingProfile
from byteatlas.io.sources.objects.runtime import was_forked
from byteatlas.io.sources.objects.source import ObjectSource
from byteatlas.io.sources.objects.system import LivingObjects, ObjectSystem, fits, split_path
from byteatlas.io.storage_options import StorageOptions

PACKAGES = {S3: "s3fs", GCS: "gcsfs", AZURE: "adlfs"}
"""fsspec's back ends."""


def through_obstore(url: str, options: StorageOptions, asked: AskedOptions | None) -> tuple[ObjectSystem, str] | None:
    """A bucket, and the path in it. None where fsspec's back end is installed and can do what obstore cannot, or the
    provider's second choice has to be taken.

    Raises `BadRequest` for options that neither knows.
    """
    protocol, bucket, path = split_path(url)
    may_pass = options.backend is None and find_spec(PACKAGES[KINDS[protocol]]) is not None
    if may_pass and (was_forked() or not fits(url)):
        return None
    if not fits(url):
        raise BadRequest(f"{url}: obstore cannot name this object; say backend='fsspec'")
    try:
        living = LivingObjects(
            protocol, bucket, options.for_url(url) if asked is None else None, asked, options.retry.idle
        )
        if asked is not None:
            living.arguments()
    except (Untranslatable, AskingProfile):
        if may_pass:
            return None
        raise
    if asked is not None and asked.second() is not None and _is_denied(living, url):
        return None
    return ObjectSystem(living), path


def _is_denied(living: LivingObjects, url: str) -> bool:
    try:
        ObjectSource(living, split_path(url)[2].partition("/")[2], url).size()
    except FetchFailed as error:
        return error.denied
    return False
