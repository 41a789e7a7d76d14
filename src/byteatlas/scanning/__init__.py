"""The scanner contract, the driver that feeds parsers, plugin discovery, and the scan report."""
