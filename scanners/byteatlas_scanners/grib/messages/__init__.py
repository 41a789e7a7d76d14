"""Finding messages and their sections; no data is read."""
