"""Reference maps of other projects' forms."""
