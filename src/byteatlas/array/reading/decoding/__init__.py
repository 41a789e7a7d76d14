"""From the bytes of chunks to arrays, through the codec pipelines of their encodings."""
