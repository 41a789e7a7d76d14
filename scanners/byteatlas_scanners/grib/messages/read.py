"""The fields of the messages that were found: their sections are read, side by side."""

from __future__ import annotations

from typing import NamedTuple

from byteatlas.errors import CorruptFile, FileFault
from byteatlas.scanning.contract import Apart, Parse
from byteatlas.scanning.grib import GribField, walk
from byteatlas.scanning.parsers import gather, one
from byteatlas.types import ByteRange
from byteatlas_scanners.grib.messages.chain import FoundMessage
from byteatlas_scanners.grib.messages.window import SMALLEST


class Placed(NamedTuple):
    """A field and the message that it is in.

    Attributes:
        alone: the message has no other field.
    """

    message: FoundMessage
    field: GribField
    alone: bool

    @property
    def locator(self) -> str:
        """Its name in reports."""
        place = f"off/{self.message.offset}"
        return place if self.alone else f"{place}#{self.field.number}"


def read_fields(messages: list[FoundMessage]) -> Parse[list[list[Placed] | FileFault]]:
    """The fields of messages; for a message whose sections are damaged the fault."""
    return (yield from gather([_fields(message) for message in messages]))


def _fields(message: FoundMessage) -> Parse[list[Placed]]:
    walking = walk()
    head, size = message.head, len(message.head)
    try:
        wanted = next(walking)
        while True:
            if wanted.end <= size:
                wanted = walking.send(head[wanted.offset : wanted.end])
            elif wanted.end > message.length:
                raise CorruptFile(wanted.offset, f"a section of {wanted.length} bytes does not fit into its message")
            else:
                data = yield from one(_ask(message, wanted))
                wanted = walking.send(data)
    except StopIteration as end:
        fields: tuple[GribField, ...] = end.value.fields
    except CorruptFile as error:
        raise CorruptFile(message.offset + error.offset, error.why) from error
    return [Placed(message, field, len(fields) == 1) for field in fields]


def _ask(message: FoundMessage, wanted: ByteRange) -> ByteRange | Apart:
    """Of a small message the rest will be wanted too; of a large one what is between is data."""
    kind = ByteRange if message.length < SMALLEST else Apart
    return kind(message.offset + wanted.offset, wanted.length)
