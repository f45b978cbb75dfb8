"""Min-max kernels of counts, and the kernel for molecules that is made of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from retgk._runtime.parameters import (
    MAX_ROUNDS,
    NONE,
    Constraints,
    Each,
    OneOf,
    Whole,
    check_parameters,
)
from retgk.array_types import Floats
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.kernels.engine import GraphIntake
from retgk.kernels.kernel import Combination, GraphKernel, Scaled, added_gram, mean_of
from retgk.kernels.others.base import LabelColumns, PeerKernel
from retgk.kernels.others.counts import CountEngine
from retgk.kernels.others.weisfeiler_lehman import WeisfeilerLehmanOA


class MinMax(Combination):
    r"""
    Min-max kernel between graphs, ``K(G, H) / (K(G, G) + K(H, H) - K(G, H))``.

    With counts :math:`n_c` of colours, or of what else a kernel counts, it is
    :math:`\sum_c \min(n_c(G), n_c(H)) / \sum_c \max(n_c(G), n_c(H))`: the share of all that two
    graphs have which both have.

    Parameters
    ----------
    kernel : GraphKernel
        A kernel of counts, such as `WeisfeilerLehmanOA`, or any other. Of kernels of counts the
        smaller count is taken, also where they would multiply two, and nothing is normalized.
    rounds : sequence of int, optional
        Rounds of refinement: the value is the mean of those with ``n_iter=h`` for every h of these,
        which takes little more time than one. None is the ``n_iter`` of the kernel alone.

    Notes
    -----
    On counts of circular substructures it is the kernel that chemists call min-max or Tanimoto.
    Values are between 0 and 1, and 1 for graphs that cannot be told apart.

    Examples
    --------
    >>> from retgk.datasets import make_graph_classification
    >>> from retgk.kernels import MinMax, WeisfeilerLehmanOA
    >>> graphs = make_graph_classification(n_graphs=6, rng=0).graphs
    >>> kernel = MinMax(WeisfeilerLehmanOA(n_iter=3), rounds=(1, 2, 3))
    >>> kernel.fit(graphs[:4]).transform(graphs[4:]).shape
    (2, 4)
    """

    part_names = ("kernel",)
    _parameter_constraints: ClassVar[Constraints] = {"rounds": (NONE, Each(Whole(0, MAX_ROUNDS)))}
    fitted_fields = (*Combination.fitted_fields, "rounds_")
    rounds_: tuple[int, ...] | None

    def __init__(self, kernel: GraphKernel, rounds: Sequence[int] | None = None) -> None:
        self.kernel = kernel
        self.rounds = rounds

    def fit_batch(self, batch: GraphBatch) -> None:
        self.check()
        part = clone(self.kernel)
        if isinstance(part, PeerKernel):
            part.fit_engine(part.new_engine().for_min_max(), batch)
        else:
            part.fit(batch)
        self.rounds_ = None if self.rounds is None else tuple(map(int, self.rounds))
        self.take_parts([part], GraphIntake(batch.reading, batch.is_weighted), len(batch))
        self.after_loading()

    def leaves(self) -> Iterator[tuple[str, GraphKernel]]:
        """None: what the kernel would be alone says nothing of this one."""
        return iter(())

    @property
    def counts(self) -> CountEngine | None:
        """Engine of the fitted part if it counts."""
        engine = getattr(self.parts_[0], "engine_", None)
        return engine if isinstance(engine, CountEngine) else None

    def combined(self, values: list[Floats]) -> Floats:
        return (values[0] > 0).astype(np.float64)  # of norms alone

    def gram(self) -> Floats:
        return added_gram(self)

    def add_gram(self, out: NDArray[Any], weight: float = 1.0) -> None:
        part, counts = self.parts_[0], self.counts
        if counts is not None:
            counts.add_matrix(counts.levels(self.rounds_).times(weight), out, part.n_jobs)
            return
        values = part.gram()
        norms = values.diagonal().copy()
        out += weight * _ratios(values, norms, norms)

    def rows(self, batch: GraphBatch) -> Floats:
        return self.rows_and_norms(batch)[0]

    def rows_and_norms(self, batch: GraphBatch) -> tuple[Floats, Floats]:
        part, counts = self.parts_[0], self.counts
        if counts is None:
            values, norms = part.rows_and_norms(batch)
            return _ratios(values, norms, part.norms()), self.combined([norms])
        new = part.compare(batch)
        return counts.level_rows(counts.levels(self.rounds_), new), self.combined([new.norms])

    def after_loading(self) -> None:
        super().after_loading()
        check_parameters(self._parameter_constraints, {"rounds": self.rounds_})
        counts = self.counts
        if counts is not None:
            counts.levels(self.rounds_)
        elif self.rounds_ is not None:
            raise InvalidInputError(
                f"rounds are of kernels of refined labels, not of {self.kernel!r:.80}; leave them "
                "out"
            )


def _ratios(values: Floats, norms: Floats, fitted_norms: Floats) -> Floats:
    wholes = np.add.outer(norms, fitted_norms) - values
    return np.divide(values, wholes, out=np.zeros_like(values), where=wholes > 0)


MoleculeTask = Literal["classification", "regression"]
"""What is to be learnt."""


def molecule_kernel(
    task: MoleculeTask = "classification", *, labels: LabelColumns = "element"
) -> GraphKernel:
    """
    Kernel for molecules, and for other graphs whose labels have several columns.

    For classification it is the mean of eight min-max kernels of refined labels, after 1 to 4
    rounds with labels of edges, that begin with one column (the element) or with all. For
    regression it is the mean of that and of the optimal assignment of colours after 2 rounds, over
    its mean on the training graphs with themselves: such a kernel grows with the graphs, as many
    properties of molecules do.

    Parameters
    ----------
    task : {"classification", "regression"}, default="classification"
        What is to be learnt.
    labels : str or sequence of str, default="element"
        Columns of the labels that half of the kernels begin with; the others begin with all.

    Returns
    -------
    GraphKernel
        The kernel, not fitted: sums and multiples of `MinMax` and `WeisfeilerLehmanOA`.

    Examples
    --------
    >>> from retgk import GraphBatch
    >>> from retgk.kernels import molecule_kernel
    >>> graphs = GraphBatch.from_edges(
    ...     [2, 2], [[0, 1], [2, 3]], labels=[("C", 0), ("O", 0), ("C", 0), ("O", -1)],
    ...     label_columns=("element", "charge"), edge_labels=["single"] * 2, symmetrize=True,
    ... )
    >>> molecule_kernel().fit_transform(graphs).round(2)
    array([[1.  , 0.54],
           [0.54, 1.  ]])
    """
    check_parameters({"task": (OneOf(("classification", "regression")),)}, {"task": task})
    rounds = (1, 2, 3, 4)
    starts: tuple[LabelColumns, ...] = (labels, None)
    mean = mean_of(
        MinMax(WeisfeilerLehmanOA(max(rounds), edge_labels=True, labels=own), rounds)
        for own in starts
    )
    if task == "classification":
        return mean
    extensive = WeisfeilerLehmanOA(2, edge_labels=True, labels=labels, normalize=False)
    return mean_of([mean, Scaled(extensive, "mean")])
