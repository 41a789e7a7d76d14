"""Where the bytes lie: chunk manifests, virtual groups, and the files that hold them."""
