"""Many files at once, on threads, processes or a Dask cluster."""
