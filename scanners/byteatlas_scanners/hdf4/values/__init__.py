"""From number types and records to data types and attributes."""
