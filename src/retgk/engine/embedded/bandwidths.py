"""Kernels of an embedding with the bandwidths that a sample of graphs gives them."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.kernels.node_kernels import Gaussian, Laplacian
from retgk.walks.sampling import sample_nodes, seed_from

__all__ = [
    "FourierKernel",
    "check_has_attributes",
    "fitted_attribute_kernel",
    "fitted_structure_kernel",
]

FourierKernel = Gaussian | Laplacian

# Frequencies 10 N(0, 1), the paper's choice for most collections.
_PAPER_KERNEL = Gaussian(gamma=50.0)
_GRAPHS_FOR_MEDIAN = 800
_NODES_FOR_MEDIAN = 5


def check_has_attributes(kernel: FourierKernel | None, batch: GraphBatch) -> None:
    """Raise if there is a kernel of attributes, but none for it."""
    if batch.n_attributes == 0 and kernel is not None:
        raise InvalidInputError(
            f"the graphs have no attributes for attribute_kernel={kernel!r}; leave it out, or give "
            "the graphs attributes"
        )


def fitted_attribute_kernel(
    kernel: FourierKernel | None, batch: GraphBatch, rng: np.random.Generator
) -> FourierKernel | None:
    """
    Kernel of attributes with a number for gamma.

    Parameters
    ----------
    kernel : Gaussian, Laplacian or None
        The kernel; None for a Gaussian with gamma="median" where there are attributes.
    batch : GraphBatch
        Graphs.
    rng : Generator
        Draws the nodes for a median.

    Returns
    -------
    Gaussian, Laplacian or None
        None where there are no attributes.
    """
    if batch.n_attributes == 0:
        return None
    kernel = kernel or Gaussian(gamma="median")
    return kernel.fitted(batch.attributes, batch.node_ptr, rng)


def fitted_structure_kernel(
    kernel: FourierKernel | None,
    batch: GraphBatch,
    rng: np.random.Generator,
    probabilities_of: Callable[[GraphBatch, NDArray[np.int64]], NDArray[np.float64]],
) -> FourierKernel:
    """
    Kernel of return probabilities with a number for gamma.

    A median needs five nodes of some hundred graphs only, so no others are walked from.

    Parameters
    ----------
    kernel : Gaussian, Laplacian or None
        The kernel; None for the paper's.
    batch : GraphBatch
        Graphs.
    rng : Generator
        Draws the nodes for a median.
    probabilities_of : callable
        Gives the return probabilities of some nodes of a batch.

    Returns
    -------
    Gaussian or Laplacian
        The kernel.
    """
    kernel = kernel or _PAPER_KERNEL
    rng = np.random.default_rng(seed_from(rng))  # what is drawn next depends on no rule
    if not isinstance(kernel.gamma, str):
        return kernel
    n_drawn = min(len(batch), _GRAPHS_FOR_MEDIAN) if kernel.gamma == "median" else 0
    sample = batch[np.sort(rng.choice(len(batch), n_drawn, replace=False))]
    nodes = sample_nodes(sample, _NODES_FOR_MEDIAN, random_state=rng)
    points = probabilities_of(sample, nodes)
    return kernel.fitted(points, np.searchsorted(nodes, sample.node_ptr), rng)
