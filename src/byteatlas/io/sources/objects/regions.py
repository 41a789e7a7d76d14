"""In which region a bucket lies, where nobody said so: the storage tells anyone who asks for the bucket."""

from __future__ import annotations

from byteatlas.io.sources.objects.faults import RefusedAnswer

SECONDS = 10.0
HOST = "https://s3.amazonaws.com"


def region_for(error: BaseException, bucket: str, endpoint: str) -> str | None:
    """The region, after an answer that says that it is another one; None for any other answer.

    The answer names it, or the header ``x-amz-bucket-region`` of an answer to HEAD for the bucket does (Amazon S3 API,
    HeadBucket).
    """
    found = RefusedAnswer(error)
    if not found.elsewhere:
        return None
    return found.region or _asked(bucket, endpoint or HOST)


def _asked(bucket: str, endpoint: str) -> str | None:
    from http.client import HTTPConnection, HTTPException, HTTPSConnection
    from urllib.parse import quote, urlsplit

    parts = urlsplit(endpoint)
    kind = HTTPConnection if parts.scheme == "http" else HTTPSConnection
    connection = kind(parts.netloc, timeout=SECONDS)
    try:
        connection.request("HEAD", f"{parts.path.rstrip('/')}/{quote(bucket)}")
        return connection.getresponse().getheader("x-amz-bucket-region")
    except (OSError, HTTPException):
        return None
    finally:
        connection.close()
