"""Decoders that may hang or end the process, in a child process with limits of time and memory."""
