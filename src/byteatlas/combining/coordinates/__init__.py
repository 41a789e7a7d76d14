"""Coordinate values along the dimensions of a combination, and the order of files that follows from them."""
