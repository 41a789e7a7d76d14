"""Data types: Zarr v3 names and configurations, v2 type strings, and the NumPy types that values have in memory.

Types that NumPy does not have come from ``ml_dtypes`` (an extra); complex numbers of narrow floats are held as
``complex64``, which keeps their values exactly. `stored_dtype` says what the bytes of one element look like where that
is not the type in memory.
"""

from byteatlas.meta.dtypes.names import (
    BITS,
    BYTES,
    MOST_AXES,
    MOST_ITEMSIZE,
    NARROW,
    OBJECT,
    OPTIONAL,
    STRING,
    VLEN_ARRAY,
    axes_of,
    bounds,
    complex_part,
    is_integer,
    is_number,
    of_fields,
    stored_dtype,
)
from byteatlas.meta.dtypes.numpy_types import byte_orders, from_numpy, to_v3
from byteatlas.meta.dtypes.v2 import descr, from_v2, is_object, numpy_v2, to_v2
from byteatlas.meta.dtypes.v3 import KNOWN, from_v3, inner_type

__all__ = [
    "BITS",
    "BYTES",
    "KNOWN",
    "MOST_AXES",
    "MOST_ITEMSIZE",
    "NARROW",
    "OBJECT",
    "OPTIONAL",
    "STRING",
    "VLEN_ARRAY",
    "axes_of",
    "bounds",
    "byte_orders",
    "complex_part",
    "descr",
    "from_numpy",
    "from_v2",
    "from_v3",
    "inner_type",
    "is_integer",
    "is_number",
    "is_object",
    "numpy_v2",
    "of_fields",
    "stored_dtype",
    "to_v2",
    "to_v3",
]
