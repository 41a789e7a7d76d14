"""From decoded chunks to the result: each value to the place where the plan wants it."""
