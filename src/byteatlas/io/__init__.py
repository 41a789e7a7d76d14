"""The only package that opens files or sockets."""
