"""The kinds of manifests other than columns in memory: formulas, streams, sparse ones, several in a row."""
