"""What an archive's directory says of its members, whatever the archive is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import unquote

from byteatlas.errors import FileFault, NotFound, Unsupported
from byteatlas.io.urls import join
from byteatlas.meta.model import CodecSpec
from byteatlas.meta.names import legal_name
from byteatlas.scanning.reasons import Reason
from byteatlas.types import ByteRange
from byteatlas.values import dataclass

MOST_MEMBERS = 1_000_000
MOST_LEVELS = 64
"""Folders inside of one another."""


@dataclass(frozen=True, slots=True)
class MemberCodec:
    """How a member is compressed.

    Attributes:
        codec: what unpacks it.
        framed: the bytes that ``codec`` takes; the member's compressed bytes are among them.
        size: bytes that it unpacks to; None: the directory does not say.
        crc: CRC-32 of those; None: not known.
    """

    codec: CodecSpec
    framed: ByteRange
    size: int | None = None
    crc: int | None = None


@dataclass(frozen=True, slots=True)
class ContainedFile:
    """One file in an archive.

    Attributes:
        name: its path, with slashes.
        where: its bytes in the archive, as they are stored.
        packing: None: stored as it is.
        fault: why it cannot be read.
    """

    name: str
    where: ByteRange
    packing: MemberCodec | None = None
    fault: FileFault | None = None


@dataclass(frozen=True, slots=True)
class MemberTable:
    """The files of an archive by name; of several with one name the last counts, as when they are unpacked.

    Attributes:
        notes: what the directory does not tell, or hides.
    """

    members: Mapping[str, ContainedFile]
    hidden: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()

    def named(self, name: str, where: str) -> ContainedFile:
        """A member by its name, as it is or with the escapes of URLs. Raises `NotFound`."""
        for spelling in (name, name.lstrip("/"), unquote(name), unquote(name).lstrip("/")):
            if spelling in self.members:
                return self.members[spelling]
        raise NotFound(f"{where} has no member {name!r}")

    def led_to(self, base: str, member: str, url: str) -> str | None:
        """The name of the member that another one names by a URL; None: it leads out of the archive.

        ``base`` is the URL of the archive: to a scanner, members are files in a folder of that name.
        """
        full = join(f"{base}/{member}", url)
        return full[len(base) + 1 :] if full.startswith(f"{base}/") else None


def directory_of(members: Iterable[ContainedFile], notes: tuple[str, ...] = ()) -> MemberTable:
    """The directory of the members in the archive's order."""
    found: dict[str, ContainedFile] = {}
    hidden: set[str] = set()
    for member in members:
        if member.name in found:
            hidden.add(member.name)
        found[member.name] = member
    return MemberTable(found, frozenset(hidden), notes)


def path_fault(name: str) -> FileFault | None:
    """Why a member's name cannot be the path of a group; None: it can."""
    parts = name.split("/")
    if len(parts) > MOST_LEVELS:
        return Unsupported(Reason.NAME, f"more than {MOST_LEVELS} folders inside of one another")
    if all(legal_name(part) for part in parts):
        return None
    return Unsupported(Reason.NAME, f"{name[:200]!r} is not a path of names that groups may have")
