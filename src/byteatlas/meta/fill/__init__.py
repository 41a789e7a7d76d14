"""Fill values to and from JSON (v2, "Fill value encoding"; v3 core and the registered data types).

In memory a fill value is a NumPy scalar of the array's type (``str``, ``bytes`` or any value for variable-length
types), or None for a version 2 ``null``.
"""

from byteatlas.meta.fill.basic import default
from byteatlas.meta.fill.read_v2 import from_v2
from byteatlas.meta.fill.read_v3 import from_v3
from byteatlas.meta.fill.write import same, to_v2, to_v3

__all__ = ["default", "from_v2", "from_v3", "same", "to_v2", "to_v3"]
