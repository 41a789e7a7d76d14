"""Errors about credentials name the prefix that needs them."""

from __future__ import annotations

import pytest
from botocore.exceptions import NoCredentialsError

from byteatlas.errors import FetchFailed
from byteatlas.io.sources.remote import FsspecSource
from byteatlas.types import ByteRange


class Refusing:
    """A file system that lets nobody in."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def cat_ranges(self, *_: object, **__: object) -> list[bytes]:
        raise self.error

    def cat_file(self, *_: object) -> bytes:
        raise self.error


class Status(OSError):
    """As the errors of web clients are: the status code is a field."""

    status = 403


@pytest.mark.parametrize("error", [PermissionError("no"), Status("no"), NoCredentialsError()])
def test_missing_credentials_name_the_prefix(error: Exception) -> None:
    source = FsspecSource("memory://bucket/a/b.nc")
    source._living._fs = Refusing(error)
    with pytest.raises(FetchFailed, match=r"storage_options=\{'memory://bucket/': \{\.\.\.\}\}"):
        source.read([ByteRange(0, 1)])


def test_other_failures_do_not(tmp_path: object) -> None:
    source = FsspecSource("memory://bucket/a/b.nc")
    source._living._fs = Refusing(OSError("403 credentials.nc: connection reset"))
    with pytest.raises(FetchFailed) as caught:
        source.read_all()
    assert "may need credentials" not in str(caught.value)
