"""Verify: what our engine reads equals what the format's own library reads, value by value."""

from byteatlas.verifying.options import VerifyOptions
from byteatlas.verifying.report import VerifyItem, VerifyReport
from byteatlas.verifying.run import verify_node

__all__ = ["VerifyItem", "VerifyOptions", "VerifyReport", "verify_node"]
