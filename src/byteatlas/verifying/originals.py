"""The files that a map leads to: scanned again, and opened by their format's own library."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack

from byteatlas.errors import ByteatlasError, Unsupported
from byteatlas.importing import object_named
from byteatlas.io.open import opened
from byteatlas.io.source import Opener
from byteatlas.manifest.model import SourceInfo, VirtualArray, VirtualGroup
from byteatlas.scanning.contract import Scanner, ScanOptions
from byteatlas.scanning.driver import recognise, scan_source
from byteatlas.values import dataclass, field
from byteatlas.verifying.native.contract import NATIVE_ERRORS, NativeArray, NativeFile, Stacked


@dataclass(frozen=True, slots=True, eq=False)
class Original:
    """A file that the map leads to: what a scan of it finds, and the format's own view of it."""

    url: str
    scanned: VirtualGroup
    native: NativeFile

    def find(self, path: str) -> tuple[VirtualArray, NativeArray] | None:
        locators = next((i.locators for i in self.scanned.report if i.path.strip("/") == path), ())
        try:
            virtual = self.scanned[path]
        except ByteatlasError:
            return None  # refused, perhaps for what it leads to: the format's library would follow it
        native = self.native.array(path, locators) if isinstance(virtual, VirtualArray) else None
        if isinstance(native, Stacked) and isinstance(virtual, VirtualArray):
            native = native.shaped(virtual.meta.shape)
        return (virtual, native) if native is not None and isinstance(virtual, VirtualArray) else None


@dataclass(frozen=True, slots=True, eq=False)
class Originals:
    """The files, opened once each."""

    opener: Opener
    scanners: Mapping[str, Scanner]
    stack: ExitStack
    known: dict[SourceInfo, Original | str] = field(default_factory=dict)

    def get(self, file: SourceInfo) -> Original | str:
        """The file, or a sentence why there is no way to compare with it."""
        if file not in self.known:
            self.known[file] = self._open(file)
        return self.known[file]

    def is_index(self, url: str) -> bool:
        """Whether a file only says where the bytes of others lie, so that those are what there is to compare with."""
        try:
            return recognise(self.opener(url), self.opener, self.scanners).verify is None
        except Unsupported:
            return False

    def _open(self, file: SourceInfo) -> Original | str:
        url, source = file.url, opened(self.opener, file)
        try:
            scanner = recognise(source, self.opener, self.scanners)
        except Unsupported:
            return f"{url} is no archive that could be opened by itself"
        if scanner.verify is None:
            return f"no other library at hand for format {scanner.name}"
        scanned = scan_source(source, self.opener, self.scanners, ScanOptions(), format=scanner.name)
        try:
            return Original(url, scanned, self.stack.enter_context(object_named(scanner.verify)(source)))
        except ByteatlasError:
            raise
        except NATIVE_ERRORS as error:
            return f"the format's own library cannot open the file: {error}"
