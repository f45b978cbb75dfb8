"""Merging of twin nodes: a smaller graph that has the same return probabilities.

Nodes with the same neighbours and weights are twins: *open* twins are not adjacent, *closed*
twins are. Let C be a class of c twins of degree d, self-loop l and, if closed, edge weight w
inside the class, and let ``Bq = U^T B U`` with U the normalised indicators of the classes. Then

    B^s(i, i) = Bq^s(C, C) / c + (1 - 1/c) mu^s,   mu = l/d (open) or (l - w)/d (closed),

because the vectors that sum to zero over C are eigenvectors of B with eigenvalue mu.
`_core.merge_twins` finds the classes and writes the quotients.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Quotients", "empty_quotients"]


class Quotients(NamedTuple):
    """
    Normalised adjacency ``Bq`` of every graph of a batch after its twins are merged.

    The quotient of a graph keeps the place of the graph in the flat arrays: its rows start at
    ``node_ptr[graph]``, its entries where those of the graph start, and what merging saves
    is left unused. So graphs can be merged in any order and by any number of threads.
    """

    n_classes: NDArray[np.int64]
    """Rows of every quotient, shape (n_graphs,)."""
    class_of: NDArray[np.int32]
    """Row of every node in the quotient of its graph, shape (n_nodes,)."""
    multiplicity: NDArray[np.int32]
    """Number of twins in every row."""
    residual: NDArray[np.float64]
    """Eigenvalue mu of the differences between twins, for every row."""
    diagonal: NDArray[np.float64]
    """Bq(C, C) for every row."""
    row_begin: NDArray[np.int64]
    """First entry of every row."""
    row_end: NDArray[np.int64]
    """One past the last entry of every row."""
    columns: NDArray[np.int32]
    """Column of every entry off the diagonal, numbered within the quotient."""
    values: NDArray[np.float64]
    """Bq(C, D) of every entry off the diagonal."""


def empty_quotients(n_graphs: int, n_nodes: int, n_entries: int) -> Quotients:
    """Room for the quotients of a batch; pages that are never written take no memory."""
    return Quotients(
        np.empty(n_graphs, np.int64),
        np.empty(n_nodes, np.int32),
        np.empty(n_nodes, np.int32),
        np.empty(n_nodes, np.float64),
        np.empty(n_nodes, np.float64),
        np.empty(n_nodes, np.int64),
        np.empty(n_nodes, np.int64),
        np.empty(n_entries, np.int32),
        np.empty(n_entries, np.float64),
    )
