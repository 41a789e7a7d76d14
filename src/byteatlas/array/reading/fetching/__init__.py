"""From columns of byte ranges to few large requests, and their bytes to a receiver."""
