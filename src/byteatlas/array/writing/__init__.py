"""Values into stored arrays: create, fill, resize, append, copy."""
