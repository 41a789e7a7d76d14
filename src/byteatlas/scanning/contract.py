"""What a scanner is: a parser that asks for bytes and never opens a file, and what its asks and answers are.

A parser is a generator. It yields a batch of *asks* and is sent the answers in the same order; all asks of one batch
are fetched together. Each ask has an answer of its own: a value, or a `Fault` when the fault lies in the file (bytes
beyond its end, a linked file that is not there or may not be opened). A failure of the network is no answer: it ends
the scan, and no parser sees it. `byteatlas.scanning.parsers` has the functions that parsers are written with.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from byteatlas.arguments import NAMED, TEXT, accept_fields, whole
from byteatlas.errors import FileFault
from byteatlas.manifest.model import SourceInfo, VirtualGroup
from byteatlas.meta.model import CodecSpec
from byteatlas.types import JSON, Buffer, ByteRange
from byteatlas.values import dataclass, field

T = TypeVar("T")

MOST_WHOLE = 64 << 20
"""Bytes that a side file may have that is asked for as a whole, unless the ask says otherwise."""


class Elsewhere(NamedTuple):
    """A byte range of another file (external links, virtual datasets, raw storage). The answer is its bytes.

    ``url`` is as the file writes it: relative to the folder of the scanned file, or absolute.

    Attributes:
        by: the URL of the file that names this one, when that is not the scanned file itself. It may lead to no more
            than that file has a right to: what came from the network to nothing on this machine.
    """

    url: str
    range: ByteRange
    by: str | None = None


class Stat(NamedTuple):
    """Whether another file is there, and how large it is. The answer is a `SourceInfo`, or None when it is not.

    ``url`` and ``by`` are as in `Elsewhere`.
    """

    url: str
    by: str | None = None


class Whole(NamedTuple):
    """All bytes of another file, a side file above all. The answer is its bytes.

    Attributes:
        optional: a file that is not there is answered by None, else by the fault `Absent`. One that the storage does
            not give out (a web server's 403) is not known to be absent: always the fault `Forbidden`.
        most: a larger file is a fault (`Unsupported`).
        by: as in `Elsewhere`.
    """

    url: str
    optional: bool = False
    most: int = MOST_WHOLE
    by: str | None = None


class Decode(NamedTuple):
    """What encoded bytes decode to, for the few structures that a scan must look into. The answer is bytes.

    Attributes:
        codecs: bytes -> bytes codecs in encoding order, as in Zarr metadata; decoding runs them backwards.
        size: bytes of the result; it is a fault (`CorruptChunk`) when there are more or fewer.
    """

    codecs: tuple[CodecSpec, ...]
    data: Buffer
    size: int


class Ahead(NamedTuple):
    """A hint: these bytes (of the file itself, without ``url``) will be asked for soon. The answer is None.

    A chain of messages (each says where the next one begins) costs one round trip for each message; with a hint the
    driver fetches a large part of the chain at once. What lies beyond the end of the file is left out.
    """

    offset: int
    length: int
    url: str | None = None


class Apart(NamedTuple):
    """A byte range of the file itself that stands alone: nothing near it will be asked for. The answer is its bytes.

    Remote files are read in blocks, which parsers that follow small structures need. For the heads of thousands of
    large messages a block each would be most of what is fetched.
    """

    offset: int
    length: int


Ask: TypeAlias = ByteRange | Elsewhere | Stat | Whole | Decode | Ahead | Apart
"""`ByteRange`: bytes of the file itself. The answer is exactly as many bytes."""


class Fault:
    """The answer to an ask that cannot be answered because of what is in the file, or in a file that it names."""

    __slots__ = ("error",)

    def __init__(self, error: FileFault) -> None:
        self.error = error

    def __repr__(self) -> str:
        return f"Fault({self.error!r})"


Answer: TypeAlias = Buffer | SourceInfo | Fault | None
"""See each kind of ask for what it is answered by; any of them may be a `Fault`."""

Parse: TypeAlias = Generator[Sequence[Ask], Sequence[Answer], T]


@dataclass(frozen=True, slots=True)
class Option:
    """One option that a scanner takes: ``ScanOptions(extra={scanner: {name: value}})``.

    Attributes:
        kind: bool, int, float or str; the type of its values.
        about: a sentence for lists of options.
    """

    name: str
    kind: type
    default: JSON
    about: str = ""


SCAN_OPTIONS = {
    "target_chunk": whole(1) | None,
    **dict.fromkeys(("inline_below", "max_inline", "max_side", "inline_most"), whole()),
    "group": TEXT | None,
    "extra": NAMED,
}


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """What a user may choose about a scan.

    Attributes:
        target_chunk: bytes; uncompressed contiguous data larger than twice this is presented as chunks of about this
            size. None = one chunk per contiguous block.
        inline_below: bytes; chunks of an array whose data total less than this are copied into the map. 0 = never.
        group: present only what is in this group.
        max_inline: bytes; a dataset whose values must be decoded while scanning (variable-length data, references) is
            refused when it is larger.
        max_side, inline_most: bytes; with a side file, the limit is ``max_side``, and arrays with more inline bytes
            than ``inline_most`` go there.
        extra: options of single scanners, by the scanner's name: ``{"tiff": {"sidecar_masks": True}}``.

    >>> vg = ba.scan("jan.nc", options=ba.ScanOptions(inline_below=100))
    >>> [item.path for item in vg.report if item.status == "inlined"]
    ['time', 'lat', 'lon']
    """

    target_chunk: int | None = 4 << 20
    inline_below: int = 0
    group: str | None = None
    max_inline: int = 64 << 20
    max_side: int = 1 << 30
    inline_most: int = 1 << 20
    extra: Mapping[str, JSON] = field(default_factory=dict)

    def __post_init__(self) -> None:
        accept_fields(SCAN_OPTIONS, self)


class FirstBytes(NamedTuple):
    """What a format is recognised by.

    Attributes:
        data: the file's first bytes, up to 4 KiB.
        size: of the whole file, in bytes.
    """

    data: bytes
    url: str = ""
    size: int = 0


class Scanner(Protocol):
    """A scanner plugin, found through the entry-point group ``byteatlas.scanners``. Derive a class from this one.

    Attributes:
        name: what users call it (``format="..."``); also the name of its entry point.
        suffixes: endings of names that this format usually has, with the dot; used in messages only.
        priority: of several scanners that recognise a file, the one with the highest gets it. The scanners that come
            with byteatlas have 0.
        options: what ``ScanOptions.extra[name]`` may hold.
        verify: ``module:function`` of a context manager that takes a `Source` and gives a `NativeFile`
            (`byteatlas.verifying.native.contract`): the file read by its format's own library. None: there is none.
    """

    name: str
    suffixes: tuple[str, ...] = ()
    priority: int = 0
    options: tuple[Option, ...] = ()
    verify: str | None = None

    def sniff(self, first: FirstBytes) -> bool:
        """Whether this looks like a file of the format."""
        ...

    def search(self, source: SourceInfo) -> Parse[bool]:
        """Whether the file is of this format after all: asked when no scanner knows the first bytes.

        For formats whose files may begin with something else, of any length (HDF5's user blocks).
        """
        return False
        yield ()  # a generator that asks for nothing

    def scan(self, source: SourceInfo, options: ScanOptions) -> Parse[VirtualGroup]:
        """The parser for one file. ``source.size`` is set.

        What cannot be represented is refused per dataset in the report. Raises a `FileFault` only when nothing of the
        file can be understood. Inlining, ``options.group``, names and checks of the result are the driver's duties.
        """
        ...
