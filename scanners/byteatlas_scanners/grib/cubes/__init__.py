"""Fields arranged as arrays with dimensions and coordinates."""
