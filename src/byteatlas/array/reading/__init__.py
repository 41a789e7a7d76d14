"""From a selection to values, one chunk's way through: locate, plan, fetch, decode, scatter."""
