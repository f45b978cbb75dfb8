"""Fourier features of node kernels: bandwidths from a sample of graphs, and random frequencies."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from retgk._runtime.fields import stored
from retgk._runtime.names import generator_from, seed_from
from retgk._runtime.parallel import single_threaded_blas
from retgk.array_types import Floats
from retgk.graphs.batch import GraphBatch
from retgk.kernels.engine import NodeFeatures
from retgk.kernels.node import ATTRIBUTE_KERNEL, COMPARISON_KERNEL, NodeKernel
from retgk.walks.probabilities import sample_nodes

Draw = Literal["plain", "orthogonal", "quasi-random"]

_SOBOL_BITS = 30
_GRAPHS_FOR_MEDIAN = 800
_NODES_FOR_MEDIAN = 5


@stored
@dataclass(frozen=True, eq=False)
class FourierMap:
    """Feature map ``phi(x) = sqrt(2 / D) cos(omega^T x + b)`` (section 5.1 of the paper)."""

    frequencies: Floats  # (n_inputs, D): the columns are the omega
    phases: Floats  # (D,): the b, uniform in [0, 2 pi)

    def __call__(self, x: Floats) -> Floats:
        angles = x @ self.frequencies + self.phases
        return np.asarray(np.sqrt(2 / len(self.phases)) * np.cos(angles))


def fit_attribute_kernel(
    kernel: NodeKernel | None, batch: GraphBatch, rng: np.random.Generator
) -> NodeKernel | None:
    """Kernel of attributes with a number for gamma; None where there are no attributes."""
    if batch.n_attributes == 0:
        return None
    kernel = kernel or ATTRIBUTE_KERNEL
    return kernel.fitted(batch.attributes, batch.node_ptr, rng)


def fit_structure_kernel(
    kernel: NodeKernel | None, features: NodeFeatures, rng: np.random.Generator
) -> NodeKernel:
    """Kernel of return probabilities with a number for gamma, from some nodes of some graphs."""
    kernel = kernel or COMPARISON_KERNEL
    rng = np.random.default_rng(seed_from(rng))  # what is drawn next depends on no rule
    if kernel.is_fitted:
        return kernel
    n_graphs = len(features.batch)
    n_drawn = min(n_graphs, _GRAPHS_FOR_MEDIAN) if kernel.gamma == "median" else 0
    sample = features.of_graphs(np.sort(rng.choice(n_graphs, n_drawn, replace=False)))
    nodes = sample_nodes(sample.batch, _NODES_FOR_MEDIAN, rng=rng)
    points = sample.probabilities_of_nodes(nodes)
    return kernel.fitted(points, np.searchsorted(nodes, sample.batch.node_ptr), rng)


def draw_fourier_map(
    factors: Sequence[tuple[NodeKernel, int]],
    n_components: int,
    draw: Draw = "plain",
    random_state: Any = None,
) -> FourierMap:
    """
    Draw the frequencies of a product of kernels, given with the widths of their parts of a point.

    A product of kernels of x - y is such a kernel of the concatenated points, and its frequencies
    are concatenated too: standard normal vectors z of all parts, times their lengths. They are
    independent ("plain"), orthogonal in blocks with independent lengths ("orthogonal"), or from a
    scrambled Sobol sequence ("quasi-random"); all three are unbiased.
    """
    rng = generator_from(random_state)
    dimension = sum(width for _, width in factors)
    n_others = [kernel.n_normals or 0 for kernel, _ in factors]
    normals, others, turns = _SAMPLERS[draw](dimension, sum(n_others), n_components, rng)
    column = 0
    for (kernel, width), n_own in zip(factors, n_others, strict=True):
        normals[:, column : column + width] *= kernel.frequency_scale(others[:, :n_own])
        others, column = others[:, n_own:], column + width
    return FourierMap(np.ascontiguousarray(normals.T), 2 * np.pi * turns)


def _plain(dimension: int, n_roots: int, n: int, rng: np.random.Generator) -> tuple[Floats, ...]:
    """Standard normal points, more standard normal numbers, and uniform ones."""
    return rng.standard_normal((n, dimension)), rng.standard_normal((n, n_roots)), rng.random(n)


def _orthogonal(
    dimension: int, n_roots: int, n: int, rng: np.random.Generator
) -> tuple[Floats, ...]:
    """Orthogonal rows that are each standard normal: uniform rotations, lengths apart."""
    n_blocks = -(-n // dimension)
    with single_threaded_blas():  # the same bits on any number of cores
        q, r = np.linalg.qr(rng.standard_normal((n_blocks, dimension, dimension)))
    signs = np.sign(np.diagonal(r, axis1=1, axis2=2))  # without them it would not be uniform
    rotations = (q * signs[:, None, :]).reshape(-1, dimension)[:n]
    lengths = np.sqrt(rng.chisquare(dimension, n))
    return rotations * lengths[:, None], rng.standard_normal((n, n_roots)), rng.random(n)


def _quasi_random(
    dimension: int, n_roots: int, n: int, rng: np.random.Generator
) -> tuple[Floats, ...]:
    from scipy.special import ndtri
    from scipy.stats.qmc import Sobol

    sequence = Sobol(dimension + n_roots + 1, scramble=True, bits=_SOBOL_BITS, seed=rng)
    # Whole powers of two, as the sequence wants them; half a step keeps clear of zero.
    points = sequence.random_base2(max(0, (n - 1).bit_length()))[:n] + 2.0 ** -(_SOBOL_BITS + 1)
    normals = ndtri(points[:, :-1])
    return normals[:, :dimension].copy(), normals[:, dimension:], points[:, -1]


_SAMPLERS = {"plain": _plain, "orthogonal": _orthogonal, "quasi-random": _quasi_random}
