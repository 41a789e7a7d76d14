"""Stores for zarr-python: virtual trees as they are, and any tree as plain, regular Zarr.

zarr-python, and what builds on it, asks for one chunk at a time. Requests that it has under way together are gathered
(`batches`) and answered together.
"""
