"""Collections that are searched: an index of graphs, and groups of equal graphs."""
