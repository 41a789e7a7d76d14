"""Names, units and levels from the WMO's and centres' code tables."""
