"""Sources other than local files: memory, remote objects, open files, parts of files, layers around a source."""
