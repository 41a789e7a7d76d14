"""Kinds of manifests. All have the methods of `byteatlas.manifest.model.Manifest`.

| kind | its rows | where it comes from |
|---|---|---|
| `model.ChunkManifest` | columns in memory, a row for each chunk | scanners, `load()` of every other kind |
| `strided.Strided` | a formula: base and strides in one file | contiguous data, netCDF-3 records, plain strips |
| `sparse.SparseManifest` | columns for the chunks that exist alone | maps of grids with few chunks |
| `stream.StreamedManifest` | given once, in order, by a generator | makers of maps too large for memory |
| `segments.SegmentedManifest` | those of other manifests, one after the other | combining maps that are not in memory |
| `window.WindowManifest` | those of some layers of another manifest | splitting, selecting |
| `renamed.RenamedManifest` | another manifest's; sources have other URLs | moved archives |
| `encoded.EncodedManifest` | another manifest's, with an encoding column | maps of arrays with several encodings |
| `json.read.LazyJson` | looked up in the text of a map, or all of it as columns | opening a JSON map |
| `parquet.read.LazyParquet` | read from part files on demand | opening a Parquet map |
| `foreign.icechunk.read.IcechunkManifest` | asked of icechunk on demand | opening an Icechunk repository |
| `byteatlas.scanning.stores.keys.KeyManifest` | the values under keys of a store | opening a Zarr store |

The last four belong to a form of map or store and lie beside its reader. Of every kind, ``rows``, ``inline`` and
``load`` say the same of a chunk.
"""
