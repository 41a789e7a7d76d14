"""Selection x chunk grid: which chunks are touched, which part of each, and where it goes in the result."""
