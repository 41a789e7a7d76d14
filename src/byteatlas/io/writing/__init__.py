"""Writing to storage of others: one writer at a time, and nothing written over that was not seen."""
