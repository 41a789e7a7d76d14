"""Where the bytes of chunks lie: in files that a manifest names, under keys of a store, inside of shards."""
