"""How bytes may be reached: one value, made where a caller's request comes in, and carried by what comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from byteatlas.arguments import NAMED, Kind, accept, accept_fields, listed, made_by, one_of, wrong
from byteatlas.errors import BadRequest
from byteatlas.io.open import SourcePool, open_source
from byteatlas.io.policy import Policy
from byteatlas.io.retry import RETRY, Retry
from byteatlas.io.source import Source
from byteatlas.io.stamp import Check
from byteatlas.io.storage_options import NO_OPTIONS, Providers, StorageOptions, check_contents, providers_of
from byteatlas.io.urls import place
from byteatlas.types import JSON
from byteatlas.values import dataclass, field, replace

if TYPE_CHECKING:
    from byteatlas.io.traffic.counters import Counters
    from byteatlas.io.traffic.traffic import Meter, Traffic

if TYPE_CHECKING:
    from byteatlas.io.credentials.contract import CredentialProvider

Backend: TypeAlias = Literal["obstore", "fsspec"]
AbsentParts: TypeAlias = Literal["raise", "missing"]
Gaps: TypeAlias = Literal["measured", "fixed"]


def _traffic() -> Traffic:
    from byteatlas.io.traffic.traffic import Traffic  # not for local files, the most of all

    return Traffic()


ACCESS = {
    "storage_options": NAMED,
    "policy": made_by(Policy, words="Policy") | None,
    "backend": one_of(*get_args(Backend)) | None,
    "retry": made_by(Retry, words="Retry"),
    "stamps": one_of(*get_args(Check)),
    "absent_parts": one_of(*get_args(AbsentParts)),
    "files": listed(Kind(lambda file: hasattr(file, "url"), "sources"), "a list of open files"),
    "gaps": one_of(*get_args(Gaps)),
    "traffic": Kind(lambda given: hasattr(given, "meter"), "Traffic") | None,
}  # fmt: skip
"""What the fields of `Access` may be."""


@dataclass(frozen=True, slots=True)
class Access:
    """How bytes may be reached. It can be compared, hashed and sent to other processes, and prints no secrets.

    Attributes:
        storage_options: of fsspec's back ends or of obstore, for all URLs or (keys with ``://``) for the URLs below a
            prefix.
        policy: which URLs maps and files may lead to; None = by origin: what came from the network to nothing on this
            machine.
        backend: what opens the URLs of object storage (s3, gs, az): obstore or fsspec; None = obstore where it is
            installed and knows the options. All other URLs are fsspec's.
        retry: how often, and how soon, a transient failure is tried again.
        stamps: what of a source is compared with the record that a map has of it (see `byteatlas.io.stamp`).
        absent_parts: what part files of a Parquet map mean that are not there: an error, since they may be lost, or
            (``"missing"``) chunks that were never written, which some writers leave out so.
        files: open files that the caller handed in, each under its own URL.
        credentials: who is asked for storage options, for the URLs below a prefix, when they are needed and again when
            they expire: functions from a URL to options, or names (``"environment"``, ``"profile=NAME"``,
            ``"anonymous"``, ``"requester_pays"``, ``"earthdata"``, or of a plugin).
        gaps: which ranges of remote files become one request: by the ``measured`` latency and bandwidth of the server,
            or (``"fixed"``) always the same ones (see `ReadOptions.gap`).
        traffic: counts and measures what goes over the network; copies of the value share it. None: nothing is counted,
            and what is known of servers is soon forgotten.

    >>> Access({"key": "AKIA...", "s3://public/": {"anon": True}}, policy=Policy(allow=["s3://"])).storage_options
    StorageOptions(key, s3://public/: (anon))
    """

    storage_options: Mapping[str, JSON] = NO_OPTIONS
    policy: Policy | None = None
    backend: Backend | None = None
    retry: Retry = RETRY
    stamps: Check = "free"
    absent_parts: AbsentParts = "raise"
    files: tuple[Source, ...] = ()
    credentials: Mapping[str, str | CredentialProvider] | Providers = ()
    gaps: Gaps = "measured"
    traffic: Traffic | None = field(default_factory=_traffic, compare=False, repr=False)

    def __post_init__(self) -> None:
        accept_fields(ACCESS, self)
        given = StorageOptions.of(self.storage_options)
        backend = given.backend if self.backend is None else self.backend
        accept(ACCESS, backend=backend)
        check_contents(given)
        providers = providers_of(self.credentials) or given.providers
        object.__setattr__(self, "backend", backend)
        object.__setattr__(self, "credentials", providers)
        object.__setattr__(self, "storage_options", StorageOptions(given, backend, providers, self.retry))

    @staticmethod
    def of(
        access: Access | None = None,
        storage_options: Mapping[str, JSON] | None = None,
        policy: Policy | None = None,
    ) -> Access:
        """The value itself, or one made from the short forms.

        Raises `BadRequest` when both are given.
        """
        if access is None:
            if storage_options is None and policy is None:
                return DEFAULT
            retry = getattr(storage_options, "retry", RETRY)  # of an Access that they were taken from
            return Access({} if storage_options is None else storage_options, policy, retry=retry)
        if storage_options is not None or policy is not None:
            raise BadRequest("access= says it all: give storage_options and policy as Access(storage_options, policy)")
        if not isinstance(access, Access):
            raise wrong("access", access, "Access")
        return access

    def pool(self) -> SourcePool:
        """An opener for what maps and files name."""
        return SourcePool(
            self.storage_options,
            self.policy,
            retry=self.retry,
            files=self.files,
            check=self.stamps,
            meter=None if self.traffic is None and self.gaps == "measured" else self.meter,
        )

    @property
    def counters(self) -> Counters:
        """What went over the network so far with this value and its copies, worker processes of ours included.

        Zero for `DEFAULT`: to count, make an `Access`, and hand it to the verbs.
        """
        from byteatlas.io.traffic.counters import Counters

        return Counters() if self.traffic is None else self.traffic.tally.now()

    def meter(self, url: str) -> Meter:
        """What counts and measures the requests to the server of a URL."""
        return (self.traffic or _traffic()).meter(url, fixed=self.gaps == "fixed")

    def open(self, url: str) -> Source:
        """The source for a URL that the caller named, to which no policy applies.

        Raises `FetchFailed` when it is not there, `MissingExtra` when the protocol's package is not installed.
        """
        known = next((f for f in self.files if f.url == url), None)
        return known or open_source(url, self.storage_options, self.retry, self.policy, self.meter)

    def is_same(self, other: Access) -> bool:
        """Whether both are equal and count together."""
        return self is other or (self == other and self.traffic is other.traffic)

    def options_for(self, url: str) -> dict[str, JSON]:
        """The storage options for one URL."""
        return StorageOptions.of(self.storage_options).for_url(url)

    def kept_to(self, url: str) -> Access:
        """The same, with options for all URLs kept to the server (or bucket) of this one (`StorageOptions.kept_to`)."""
        if not self.storage_options:
            return self
        return replace(self, storage_options=StorageOptions.of(self.storage_options).kept_to(url))

    def with_files(self, files: Sequence[Source]) -> Access:
        """The same, which knows open files as well."""
        new = [f for f in files if f not in self.files]
        return replace(self, files=(*self.files, *new)) if new else self


DEFAULT = Access(traffic=None)
"""What holds where nobody says otherwise. All share it, so it counts nothing and remembers no server."""


def merged(parts: Sequence[tuple[Access, Callable[[], Iterable[str]]]]) -> Access:
    """One value for things that were reached in different ways; each comes with a function that gives its URLs.

    Storage options become options for the places (protocol and host or bucket) that they are used for.

    Raises `BadRequest` where that cannot be said in one value: different policies, or one place with two options.
    """
    if not parts:
        return DEFAULT
    first = parts[0][0]
    if all(access is first or access == first for access, _ in parts):
        return first
    groups: dict[Access, set[str]] = {}
    for access, urls in parts:
        groups.setdefault(access, set()).update(map(place, urls()))
    files = tuple(dict.fromkeys(f for access in groups for f in access.files))
    plain = {replace(access, storage_options=NO_OPTIONS, files=(), credentials=()) for access in groups}
    if len(plain) > 1:
        raise BadRequest(
            "what is to be combined was opened with different policies or settings: say which with access="
        )
    options: dict[str, JSON] = {}
    for access, places in groups.items():
        assert isinstance(access.storage_options, StorageOptions)
        common = access.storage_options.common
        mine = {p: {**common, **below} for p, below in access.storage_options.by_prefix.items()}
        mine |= {p: common for p in places if p and p not in mine}
        for prefix, value in mine.items():
            if options.setdefault(prefix, value) != value:
                raise BadRequest(f"{prefix} was opened with two different storage options: say which with access=")
    providers: dict[str, str | CredentialProvider] = {}
    for access in groups:
        for prefix, provider in providers_of(access.credentials):
            if providers.setdefault(prefix, provider) != provider:
                raise BadRequest(f"{prefix} has two providers of credentials: say which with access=")
    return replace(first, storage_options=options, files=files, credentials=providers)
