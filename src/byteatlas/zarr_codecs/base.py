"""What our codecs have in common in zarr-python's eyes: a name, a configuration as it was read, and decoding alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from byteatlas.codecs.core.registry import default_registry
from byteatlas.codecs.core.resolve import Binder
from byteatlas.errors import InvalidMetadata, Unsupported
from byteatlas.types import JSON


class Configured:
    """A codec's name and configuration; equal ones are equal."""

    name: ClassVar[str]
    is_fixed_size = False

    def __init__(self, configuration: Mapping[str, JSON] | None = None) -> None:
        self.configuration: dict[str, JSON] = dict(configuration or {})
        self.check()

    def check(self) -> None:
        """Raise `InvalidMetadata` or `Unsupported` for a configuration that is none."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Any:
        return cls(data.get("configuration"))

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "configuration": dict(self.configuration)}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configured) and (self.name, self.configuration) == (other.name, other.configuration)

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"<codec {self.name}>"

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: Any) -> int:
        raise NotImplementedError

    def _codec(self) -> Any:
        """Our codec. Raises `InvalidMetadata`, `Unsupported`, `MissingExtra`."""
        try:
            return default_registry()[self.name](self.configuration)
        except (InvalidMetadata, Unsupported) as error:
            error.add_note(f"in the configuration of codec {self.name!r}")
            raise


def binder() -> Binder:
    """What binds our codecs."""
    return Binder(default_registry())


def refuse_encoding(name: str) -> Unsupported:
    """The error of those who want to write."""
    return Unsupported("codec", f"codec {name!r} only decodes; byteatlas.copy writes plain Zarr")
