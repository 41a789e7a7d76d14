"""Templates and generated references: expanded when a map is read, found when one is written."""
