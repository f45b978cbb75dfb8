"""RetGK_I: inner products of all pairs of nodes, within a promised error."""
