"""Verify: what our engine reads equals what the format's own library reads, value by value."""

from byteatlas.verify.report import VerifyItem, VerifyReport
from byteatlas.verify.run import VerifyOptions, verify_node

__all__ = ["VerifyItem", "VerifyOptions", "VerifyReport", "verify_node"]
