"""How an array is read. One chunk's way, room by room:

1. ``opening``     once, when the array is opened: its chunks (within shards the inner ones) and their pipelines.
2. ``planning``    a selection: which chunks it touches, which part of each, and where that goes in the result.
3. ``locating``    those chunks: a file and a byte range for each (or: inline, or missing).
4. ``fetching``    those ranges, merged into few requests; their bytes are handed to a receiver.
5. ``decoding``    each chunk's bytes, by its pipeline.
6. ``scattering``  the values, to their places in the result. Receivers live here: they decode and put in place.

``read`` leads through the rooms. ``strategies`` says where a shorter way is worth it (``raw_parts``, ``elements``).
"""
