"""Commands that talk HTTP."""
