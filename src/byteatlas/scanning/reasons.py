"""Why a dataset was refused: stable codes, each with the sentence that the documentation shows.

Codes are never renamed; scanners of third parties may add their own (prefix them with the format's name).
"""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """A stable refusal code."""

    DATATYPE = "datatype"
    FILTER = "filter"
    LAYOUT = "layout"
    VLEN_LARGE = "vlen-large"
    VIRTUAL_DATASET = "virtual-dataset"
    EXTERNAL_STORAGE = "external-storage"
    LINK = "link"
    DATASPACE = "dataspace"
    NEVER_WRITTEN = "never-written"
    CORRUPT = "corrupt"
    FORBIDDEN = "forbidden"
    COMPRESSION = "compression"
    SAMPLES = "samples"
    TOO_LARGE = "too-large"
    NAME = "name"
    COMPRESSED_MEMBER = "compressed-member"


EXPLAINED: dict[Reason, str] = {
    Reason.DATATYPE: "the data type has no Zarr equivalent that reads the same values",
    Reason.FILTER: "a filter (compression) of the chunks is not known, or not decodable with these parameters",
    Reason.LAYOUT: "the storage layout cannot be expressed as byte ranges",
    Reason.VLEN_LARGE: "variable-length data too large to copy into the map",
    Reason.VIRTUAL_DATASET: "a virtual dataset whose pieces do not align with the chunks of its sources",
    Reason.EXTERNAL_STORAGE: "raw data in external files that cannot be found or do not cover the dataset",
    Reason.LINK: "a link that leads nowhere, in a circle, or is of a user-defined class",
    Reason.DATASPACE: "a dataspace with no elements to read (null) or of an unknown class",
    Reason.NEVER_WRITTEN: "data that nobody wrote, without a fill value: there are no values to read",
    Reason.CORRUPT: "the file's structures for this dataset are damaged",
    Reason.FORBIDDEN: "the policy in force does not allow opening a file that this dataset needs",
    Reason.COMPRESSION: "a compression scheme that no decoder at hand reads, or that byte ranges cannot express",
    Reason.SAMPLES: "a sample layout (bits, format, subsampling) that cannot be decoded to what the format's reader "
    "gives",
    Reason.TOO_LARGE: "sizes in the file exceed the bounds for untrusted input",
    Reason.NAME: "a name that is not a legal Zarr node name",
    Reason.COMPRESSED_MEMBER: "a part of a compressed member of an archive (ZIP, gzip), which no byte range can "
    "express: unpack the archive, or store its members without compression",
}


REMEDIES: dict[Reason, str] = {
    Reason.DATATYPE: "Read it with the format's own library; the other datasets are in the map.",
    Reason.FILTER: "Install what decodes it (byteatlas[hdf5-plugins]), or have the file repacked with another filter.",
    Reason.LAYOUT: "Have the dataset rewritten in chunks (h5repack for HDF5).",
    Reason.VLEN_LARGE: "Allow larger copies with the scan option for inlining, or keep the data in a side file.",
    Reason.VIRTUAL_DATASET: "Scan the files that it is made of, and combine their maps.",
    Reason.EXTERNAL_STORAGE: "Put the external files where the file says they are, and scan it again.",
    Reason.LINK: "Put the file that the link names where the link says it is, and scan it again.",
    Reason.DATASPACE: "Nothing to do: there are no values.",
    Reason.NEVER_WRITTEN: "Nothing to do: there are no values.",
    Reason.CORRUPT: "Get the file again from where it came from.",
    Reason.FORBIDDEN: "Allow it with a policy (Access(policy=...)) if you trust the file.",
    Reason.COMPRESSION: "Have the file written again with a compression that is known.",
    Reason.SAMPLES: "Read it with the format's own library; the other images are in the map.",
    Reason.TOO_LARGE: "Check the file: its sizes are larger than any that are allowed.",
    Reason.NAME: "Have the dataset renamed in the file.",
    Reason.COMPRESSED_MEMBER: "Unpack the archive, or store its members without compression.",
}
"""What somebody can do about a refusal."""


def explained(reason: str) -> tuple[str, str]:
    """What a code means, and what can be done; empty for the codes of other scanners.

    >>> explained("never-written")[1], explained("mine-odd")
    ('Nothing to do: there are no values.', ('', ''))
    """
    known = Reason(reason) if reason in set(Reason) else None
    return ("", "") if known is None else (EXPLAINED[known], REMEDIES[known])
