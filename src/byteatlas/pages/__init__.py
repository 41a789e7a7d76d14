"""Pages for people: cards of arrays, maps of bytes, quick-look pictures, as HTML that needs no network."""
