"""Our codecs for zarr-python and numcodecs, which find them by entry points: nothing here is imported before they ask.

`chunks` has the classes for Zarr v3, `encodings` the one of arrays whose chunks are stored in several ways, `second`
those that numcodecs takes for Zarr v2. All decode with `byteatlas.codecs`, and only decode.
"""
