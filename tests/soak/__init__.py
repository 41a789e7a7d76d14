"""A soak: many threads in two processes write and read one folder for a long time (``python -m tests.soak``)."""
