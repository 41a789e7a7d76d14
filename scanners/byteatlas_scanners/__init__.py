"""Scanner plugins: one package per archive format. Each sees `byteatlas.scan.contract` and the value types, no I/O."""
