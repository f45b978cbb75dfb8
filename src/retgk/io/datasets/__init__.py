"""Collections of graphs with targets: read, written, fetched and made."""
