"""Options of serving: limits, caches, what is told to whom."""

from __future__ import annotations

from byteatlas.arguments import NUMBER, accept_fields
from byteatlas.errors import BadRequest
from byteatlas.io.policy import Policy
from byteatlas.normalised.options import ServedCompression, check_compression
from byteatlas.values import dataclass

LOOPBACK_ORIGINS = ("http://localhost", "http://127.0.0.1", "http://[::1]")
"""Pages of this machine, on any port."""
LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")

ABOVE_ZERO = ("most_requests", "most_per_client", "most_bytes", "most_chunk", "threads", "timeout")
FROM_ZERO = ("cache_bytes", "max_age", "most_references")
SERVE_OPTIONS = dict.fromkeys((*ABOVE_ZERO, *FROM_ZERO), NUMBER)


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """How maps are served.

    Attributes:
        most_requests: requests under way at once; one more gets 503.
        most_per_client: of these, requests of one client address; one more gets 429.
        most_bytes: bytes of answers held in memory at once; beyond it requests wait, and get 503 after ``timeout``.
        most_chunk: bytes of the largest chunk that is decoded for an answer; arrays of larger ones are refused in a
            version of Zarr that does not have their encoding.
        cache_bytes: bytes of encoded chunks that are kept, since clients ask for parts of a chunk.
        threads: threads that read and decode.
        timeout: seconds for the bytes of one answer; then 504.
        max_age: seconds for which clients and proxies may keep an answer without asking again.
        compression: of chunks that are encoded again: ``zstd``, or ``lz4``, which is faster and often larger.
        level: of zstd.
        most_references: chunks beyond which ``refs.json`` is not made.
        redirect: send clients to a public web server where a whole file there is the chunk, in place of passing it on.
        filters: pass on shuffled chunks in version 2 as they are stored, which older versions of GDAL cannot read.
        naming: which sources clients may be told of; None = those beyond the network, and none whose URL has secrets.
        origins: pages that may read the answers (CORS); ``*`` = all. An entry without a port means every port.
        hosts: names under which this server may be asked (a page elsewhere could have its own name lead here); None =
            any.
    """

    most_requests: int = 2048
    most_per_client: int = 1024
    most_bytes: int = 1 << 30
    most_chunk: int = 256 << 20
    cache_bytes: int = 64 << 20
    threads: int = 8
    timeout: float = 60.0
    max_age: int = 60
    compression: ServedCompression = "zstd"
    level: int = 1
    most_references: int = 200_000
    redirect: bool = False
    filters: bool = False
    naming: Policy | None = None
    origins: tuple[str, ...] = LOOPBACK_ORIGINS
    hosts: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        check_compression(self.compression)
        accept_fields(SERVE_OPTIONS, self)
        for name in ABOVE_ZERO:
            if getattr(self, name) <= 0:
                raise BadRequest(f"{name} is {getattr(self, name)}; a number above 0 was expected")
        for name in FROM_ZERO:
            if getattr(self, name) < 0:
                raise BadRequest(f"{name} is {getattr(self, name)}; 0 or more was expected")
