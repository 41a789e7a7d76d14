"""Virtual datasets: mappings between selections, cut into references."""
