"""What the words of a command line mean: which files, and what was meant by those that mean nothing."""
