"""The demonstration: a small archive of sea surface temperature, indexed, combined, checked and drawn."""
