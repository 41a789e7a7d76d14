"""The formats' own libraries, behind one small face."""
