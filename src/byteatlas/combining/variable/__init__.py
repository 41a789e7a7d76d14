"""One variable of a combination: what becomes of it, and the steps that do it."""
