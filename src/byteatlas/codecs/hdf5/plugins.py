"""HDF5 filters that only their own plugin undoes: SZ, SZ3, SPERR, by hdf5plugin's libraries, in a child process.

Plugins end the whole process, or write beyond their memory, when the data are damaged. What they give is what libhdf5
gives, because it calls the same function with the same values.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from byteatlas.codecs.core.checks import byte_step
from byteatlas.codecs.core.contract import Bytes, ByteSpec, ByteStep, ChainContext
from byteatlas.codecs.core.options import Configuration, choice, integer
from byteatlas.codecs.isolated.children import ChildRequest, children
from byteatlas.errors import MissingExtra
from byteatlas.meta.place import invalid
from byteatlas.values import dataclass

PLUGINS = {"sz": "libh5sz", "sz3": "libh5sz3", "sperr": "libh5sperr"}
"""Names of the libraries without their suffixes."""
MOST_VALUES = 64


@dataclass(frozen=True, slots=True)
class Plugin:
    """One filter and its client values, as the file has them."""

    name: str
    values: tuple[int, ...]

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        path = str(plugin_path(self.name))

        def decode(data: Bytes) -> Bytes:
            options = {"path": path, "values": list(self.values)}
            request = ChildRequest("hdf5plugin", "plugin", spec.limit, options, alone=True)
            return children("hdf5plugin").decode(request, data)

        return byte_step(self.name, spec, decode)


def plugin_path(name: str) -> Path:
    """The library of a filter, found without importing hdf5plugin. Raises `MissingExtra`."""
    package = find_spec("hdf5plugin")
    for folder in (package.submodule_search_locations or ()) if package is not None else ():
        for path in sorted(Path(folder, "plugins").glob(f"{PLUGINS[name]}.*")):
            return path
    raise MissingExtra("hdf5-plugins", f"the HDF5 filter {name}")


def make(configuration: Configuration) -> Plugin:
    """``byteatlas.hdf5-plugin``: ``filter`` and ``values``."""
    name, values = choice(configuration, "filter", tuple(PLUGINS)), configuration.get("values")
    if not isinstance(values, list) or len(values) > MOST_VALUES:
        raise invalid(f"values: not a list of at most {MOST_VALUES} integers")
    return Plugin(name, tuple(integer({"values": v}, "values", least=0, most=(1 << 32) - 1) for v in values))
