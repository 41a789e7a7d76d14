"""Arrays and groups: plan a selection, fetch, decode, scatter; and write."""
