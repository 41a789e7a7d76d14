"""Scanner plugins, one package per archive format. Each sees `byteatlas.scanning.contract` and value types, no I/O."""
