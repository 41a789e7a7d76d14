"""The text of a JSON map: its structure, its entries as columns of positions, and the numbers in them."""
