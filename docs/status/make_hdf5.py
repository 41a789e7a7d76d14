"""Write ``hdf5.md`` from the tables in the code: ``python docs/status/make_hdf5.py``. A test compares the two."""

from __future__ import annotations

from pathlib import Path

from byteatlas_scanners.hdf5.filters.registry import IMAGECODECS, NUMCODECS, OWN, QUANTISER, ROWS, Row

READERS = {
    NUMCODECS: "byteatlas; zarr-python and all that read numcodecs' codecs",
    IMAGECODECS: "byteatlas; zarr-python with imagecodecs installed",
    OWN: "byteatlas",
    QUANTISER: "every reader: nothing has to be undone",
}

ELEMENTS = "`byteatlas.hdf5-elements`"

DATATYPES = (
    ("integers of 1, 2, 4, 8 bytes, both byte orders", "the same type", "`bytes`"),
    (
        "integers of other sizes (up to 8 bytes), bit offsets, fewer bits",
        "the next wider integer",
        ELEMENTS,
    ),
    ("IEEE floats of 2, 4, 8 bytes, both byte orders", "the same type", "`bytes`"),
    (
        "other floats of up to 8 bytes (bfloat16, float8, 24 bits ...)",
        "the smallest float that holds every value, as in h5py",
        ELEMENTS,
    ),
    (
        "floats of more than 8 bytes, VAX byte order",
        "refused (`datatype`): precision differs by machine",
        "",
    ),
    ("enumerations", "their integers; FALSE = 0, TRUE = 1 as bool", "`bytes`"),
    ("bit fields", "unsigned integers", "`bytes`"),
    ("fixed-length text, NUL-padded, or of one byte", "byte strings of that length", "`bytes`"),
    (
        "fixed-length text, NUL-terminated or blank-padded",
        "byte strings of that length, padding removed",
        ELEMENTS,
    ),
    ("opaque", "raw bytes; datetime64 and timedelta64 where h5py tagged them so", "`bytes`"),
    ("complex (class 11, or h5py's compound r, i)", "complex64, complex128; of half floats: a record", "`bytes`"),
    ("compounds, packed and of one byte order", "records", "`bytes`"),
    ("compounds with gaps or of mixed byte order", "records", "`byteatlas.bytes`"),
    ("compounds with any of the types above", "records", ELEMENTS),
    ("array types", "dimensions after the dataset's own; in compounds: sub-arrays", "as the base type"),
    ("variable-length text", "text (UTF-8), else byte strings; in the map", "`vlen-utf8`, `vlen-bytes`"),
    ("variable-length sequences of numbers", "arrays of arrays; in the map", "`numcodecs.vlen-array`"),
    ("nested sequences, sequences of compounds", "lists; in the map", "`numcodecs.json2`"),
    ("compounds with variable-length text", "records with text of the longest's length; in the map", "`bytes`"),
    ("compounds with variable-length sequences", "refused (`datatype`)", ""),
    ("object and region references", "the path referred to, as text; in the map", "`vlen-utf8`"),
    ("references of HDF5 1.12 (class 7, kinds 2 to 4), time", "refused (`datatype`)", ""),
)


def _row(row: Row) -> str:
    if row.codecs is None:
        return f"| {row.id} | {row.name} | refused (`filter`): {row.note} | |"
    return f"| {row.id} | {row.name} | {row.written} | {READERS[row.decoder]} |"


def render() -> str:
    """The whole page."""
    lines = [
        "# HDF5 and netCDF-4: datatypes and filters",
        "",
        "Made by `docs/status/make_hdf5.py` from the tables in the code. Everything that is not listed is refused for",
        "the dataset that has it, with a reason code, and the rest of the file is unaffected.",
        "",
        "## Datatypes",
        "",
        "| HDF5 | in the array | codec |",
        "|---|---|---|",
        *[f"| {kind} | {value} | {codec} |" for kind, value, codec in DATATYPES],
        "",
        "## Filters",
        "",
        "In any order, and with any mask per chunk. Checksums are checked.",
        "",
        "| id | filter | codec | who can read it |",
        "|---|---|---|---|",
        *[_row(row) for row in ROWS],
        "",
        "A filter that is not in this table is refused by its number. SZ, SZ3 and SPERR are undone by the plugins of",
        "hdf5plugin (extra `hdf5-plugins`), which can end a process on damaged data: they run in a child process with",
        "limits of time and memory, one process for each chunk.",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    Path(__file__).with_name("hdf5.md").write_text(render())
