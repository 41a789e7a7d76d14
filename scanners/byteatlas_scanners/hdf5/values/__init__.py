"""Values: data types, fill values, attributes, and data of variable length."""
