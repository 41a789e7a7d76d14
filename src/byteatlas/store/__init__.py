"""Keys to bytes: directories, zip files, memory, any fsspec mapping, and reference maps."""
