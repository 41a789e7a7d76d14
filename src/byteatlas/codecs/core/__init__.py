"""What codecs are, how they are found, and how a chain of them is compiled."""
