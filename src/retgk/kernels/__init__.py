"""Kernels of nodes and of graphs: RetGK, exact and embedded, and kernels of other authors."""
