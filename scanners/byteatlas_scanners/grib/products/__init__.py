"""What a field is of: parameter, level, time, ensemble member (sections 1 and 4, GRIB1's product section)."""
