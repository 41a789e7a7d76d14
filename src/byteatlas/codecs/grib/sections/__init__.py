"""A message's sections as frozen values. No values of grid points are read here."""
