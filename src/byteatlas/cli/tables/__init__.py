"""Tables that commands print, by format."""
