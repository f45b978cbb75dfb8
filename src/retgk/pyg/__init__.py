"""Transforms for PyTorch Geometric, which must be installed to use them."""

from retgk.pyg.positional_encoding import AddReturnProbabilities

__all__ = ["AddReturnProbabilities"]
