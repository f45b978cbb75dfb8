"""Tests that users call: do populations of graphs differ, do graphs go with a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from retgk._runtime.names import Rng, whole_seed
from retgk._runtime.parameters import (
    EVERYWHERE,
    NONE,
    Constraints,
    Number,
    Whole,
    check_parameters,
)
from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.io.convert import GraphsLike, as_batch
from retgk.kernels.engine import NodeFeatures
from retgk.kernels.kernel import GraphKernel
from retgk.kernels.node import Laplacian
from retgk.learning.targets import targets_of
from retgk.stats.correspondence import (
    EdgeScan,
    EdgeWeights,
    NodeKernels,
    check_same_nodes,
    mean_strengths,
    node_table,
)
from retgk.stats.design import (
    Compare,
    Design,
    EngineChoice,
    GraphKernelMatrix,
    Grouping,
    KernelFamily,
    ValueKind,
    check_comparable,
    check_enough,
    checked_values,
    design_of,
    grouping_of,
    kernel_matrices,
    warn_of_sizes,
)
from retgk.stats.results import (
    KernelResult,
    NodeEvidence,
    PopulationTest,
    affinities,
)
from retgk.stats.statistics import (
    QuadraticForm,
    Relabellings,
    association_effect,
    association_form,
    check_room_for,
    group_columns,
    group_effect,
    group_form,
    kernel_correlation,
    max_test,
    n_tied,
    permuted_statistics,
    squared_effect,
)

# One test from its kernel matrices to its result: what all tests of populations share.

_CONSTRAINTS: Constraints = {
    "n_permutations": (Whole(1, 10**7),),
    "confidence": (NONE, Number("()", 0, 1)),
    "n_jobs": EVERYWHERE["n_jobs"],
    "subnetwork_p": (NONE, Number("()", 0, 1)),
}


@dataclass(frozen=True)
class Settings:
    n_permutations: int
    confidence: float | None
    n_jobs: int | None
    seed: int
    subnetwork_p: float | None

    @classmethod
    def checked(
        cls, n_permutations: Any, confidence: Any, n_jobs: Any, rng: Rng, subnetwork_p: Any
    ) -> Settings:
        given = {"n_permutations": n_permutations, "confidence": confidence, "n_jobs": n_jobs}
        check_parameters(_CONSTRAINTS, {**given, "subnetwork_p": subnetwork_p})
        seed = whole_seed(rng, name="rng")
        return cls(int(n_permutations), confidence, n_jobs, seed, subnetwork_p)


@dataclass(frozen=True, eq=False)
class Work:
    matrices: list[GraphKernelMatrix]
    features: NodeFeatures | None
    median: Laplacian
    relabellings: Relabellings
    family: KernelFamily
    design: Design
    settings: Settings

    @classmethod
    def of(
        cls, batch: GraphBatch, family: KernelFamily, design: Design, settings: Settings
    ) -> Work:
        relabellings = relabellings_of(design, settings)
        check_room_for(family.n_kernels + 2 * family.nodes_correspond, relabellings)
        made = kernel_matrices(batch, family, settings.n_jobs, settings.seed)
        return cls(*made, relabellings, family, design, settings)

    @property
    def mean_kernel(self) -> Floats:
        """Mean of all kernels of one kind, K_2 where it is there; the data do not choose it."""
        kind = self.family.compared[0]
        found = [matrix.values for matrix in self.matrices if matrix.compare == kind]
        return np.asarray(sum(found[1:], found[0]) / len(found))

    def evidence(self, codes: Ints) -> NodeEvidence | None:
        """What the witness of nodes is made of when somebody asks for it; None without RetGK."""
        if self.features is None:
            return None
        engine = self.family.node_engine(self.median, self.settings.n_jobs, self.settings.seed)
        return NodeEvidence(self.features, engine, codes)

    def correspondence(
        self,
        form: Callable[[Floats], QuadraticForm],
        effect: Callable[[Floats], float],
        labels: Floats,
        groups: Floats,
    ) -> dict[str, Any]:
        """Tables of nodes and edges that correspond, and the largest statistics of edges."""
        if self.features is None or not self.family.nodes_correspond:
            return {}
        settings, design = self.settings, self.design
        engine = self.family.node_engine(self.median, settings.n_jobs, settings.seed)
        weights = EdgeWeights.of(self.features.batch)
        of_units = replace(weights, values=design.means(weights.values))
        scan = EdgeScan(of_units, labels, self.relabellings, settings.subnetwork_p)
        largest, edges, subnetworks = scan.results(groups, weights, settings.n_jobs)
        nodes = node_table(
            NodeKernels(self.features, engine, weights),
            design.of_units,
            form,
            effect,
            self.relabellings,
            mean_strengths(weights, groups),
            settings.n_jobs,
        )
        return {"nodes": nodes, "edges": edges, "subnetworks": subnetworks, "largest": largest}

    def result(
        self,
        kind: Literal["two-sample", "k-sample", "association"],
        form: Callable[[Floats], QuadraticForm],
        largest: Floats | None = None,
        **found: Any,
    ) -> PopulationTest:
        forms = [form(self.design.of_units(matrix.values)) for matrix in self.matrices]
        statistics = permuted_statistics(forms, self.relabellings, self.settings.n_jobs)
        rounding = [form.rounding for form in forms]
        tried = [(own.compare, own.bandwidth, own.depth, own.kernel) for own in self.matrices]
        if largest is not None and "graphs" in self.family.compared:
            statistics = np.hstack([statistics, largest])
            rounding += [0.0, 0.0]
            tried += [
                ("graphs", np.nan, 0, name) for name in ("largest edge", "largest subnetwork")
            ]
        test = max_test(statistics, np.array(rounding))
        kernels = tuple(
            KernelResult(*own[:3], one, alone, adjusted, own[3])
            for own, one, alone, adjusted in zip(
                tried,
                statistics[0].tolist(),
                test.single.tolist(),
                test.adjusted.tolist(),
                strict=True,
            )
        )
        engine: str = self.family.engine
        if self.features is not None:
            engine = self.family.chosen_engine(self.features.batch)
        return PopulationTest(
            kind=kind,
            p_value=test.p_value,
            statistic=float(test.largest[0]),
            kernels=kernels,
            confidence=self.settings.confidence,
            compare=self.family.compare,
            engine=engine,
            design=self.design.kind,
            n_permutations=self.relabellings.n_drawn,
            are_all=self.relabellings.are_all,
            n_tied=n_tied(form, self.relabellings, self.settings.n_jobs),
            permuted=test.largest[1:],
            **{"group_names": (), **found},
        )


def relabellings_of(design: Design, settings: Settings) -> Relabellings:
    codes, blocks = design.codes, design.blocks
    within = np.zeros(len(codes), np.int64) if blocks is None else blocks
    return Relabellings(codes, within, settings.n_permutations, settings.seed)


Several = Any
"""One number or a sequence of them."""

_BANDWIDTHS = (0.25, 1.0, 4.0)
_DEPTHS = (0, 2)
_N_PERMUTATIONS = 9999


def two_sample_test(
    A: GraphsLike,
    B: GraphsLike | None = None,
    *,
    by: Any = None,
    kernel: GraphKernel | Sequence[GraphKernel] | None = None,
    compare: Compare = "both",
    bandwidths: Several = _BANDWIDTHS,
    depths: Several = _DEPTHS,
    groups: Any = None,
    pairs: bool = False,
    subjects: Any = None,
    nodes_correspond: bool = False,
    subnetwork_p: float | None = None,
    n_permutations: int = _N_PERMUTATIONS,
    confidence: float | None = 0.95,
    engine: EngineChoice = "auto",
    n_jobs: int | None = None,
    rng: Rng = None,
    **options: Any,
) -> PopulationTest:
    r"""
    Test whether two populations of graphs differ, by the maximum mean discrepancy.

    For every kernel of graphs, bandwidth and depth the statistic is the unbiased squared MMD
    between the two sets of graphs (Gretton et al., 2012). Statistics are standardised over all
    relabellings of the graphs, and the largest is the statistic of the test: its p-value is the
    share of relabellings, the labels as they are among them, under which it is as large. So the
    level holds for any number of graphs and kernels, and the p-value is never 0.

    Parameters
    ----------
    A, B : GraphBatch or anything that `as_batch` takes
        Graphs of the two populations. They need not have the same sizes. They have labels,
        attributes and weights alike.
    by : array-like, optional
        Instead of B: the group of every graph of A, two different values.
    kernel : GraphKernel or sequence of GraphKernel, optional
        Kernels that are combined, such as ``WeisfeilerLehman()``; then `compare`, `bandwidths`,
        `depths`, `engine` and `options` have no meaning. By default they are RetGK's, at several
        bandwidths and depths.
    compare : {"both", "graphs", "nodes"}, default="both"
        "graphs" compares populations by K_2 on mean embeddings, which sees any difference of the
        distributions of these. "nodes" compares the means of all nodes, by inner products of mean
        embeddings; every graph counts the same. It sees differences of the mean alone, and those
        more easily where graphs vary much. "both" combines the two, and ``kernels`` of the result
        says what each found.
    bandwidths : float or sequence of float, default=(0.25, 1, 4)
        Bandwidths of the kernel of return probabilities, in median distances of nodes.
    depths : int or sequence of int, default=(0, 2)
        Rounds by which labels are refined, as in `RetGK`.
    groups : array-like, optional
        Block of every graph, those of A first, such as the site of a scan. Labels are permuted
        within blocks, and the means are compared within them.
    pairs : bool, default=False
        Whether graph i of A and graph i of B are a pair, such as before and after. Labels are
        swapped within pairs.
    subjects : array-like, optional
        Subject of every graph, those of A first, where subjects have several. If subjects have
        graphs of both groups, such as visits, labels are permuted within subjects. If each has
        graphs of one group alone, the means of subjects are compared, and labels are permuted
        between them. With `groups`, both within groups.
    nodes_correspond : bool, default=False
        Whether node i is the same in all graphs, such as a region of the brain. Edge is then
        compared with edge and node with node: statistics are the MMD of Gaussian kernels of the
        matrices (`bandwidths` in median distances of matrices), that of the mean kernel of nodes
        ("graphs" and "nodes" of `compare`), the largest t of an edge, and the largest
        subnetwork, connected edges whose t is beyond a threshold (Zalesky et al., 2010). The
        result has tables of nodes, edges and subnetworks, with p-values that are corrected for
        all of them by the same relabellings. Graphs that were read with ``negative="split"`` have
        the signs of their weights.
    subnetwork_p : float, optional
        P-value of a single edge at the threshold of subnetworks; by default at most 0.01, and
        so that by chance at most half an edge of every node is beyond it.
    n_permutations : int, default=9999
        Random relabellings; if there are no more than that, each is used once.
    confidence : float or None, default=0.95
        Of the interval of the effect size; None for no interval.
    engine : {"auto", "exact", "embedded"}, default="auto"
        Inner products of all pairs of nodes, or by 500 random features; above 100,000 nodes
        "auto" is the latter.
    n_jobs : int, optional
        Threads; they change no result.
    rng : int, Generator or None
        Seed of relabellings and halves, and of what else is drawn: walks, random features, and, of
        more than 4,000 graphs, those whose median is a bandwidth.
    **options
        Parameters of `RetGK` for nodes: ``walks``, ``attributes``,
        ``scale_attributes``, ``tol``.

    Returns
    -------
    PopulationTest
        Print it for a report in words; ``p_value``, ``effect``, ``kernels``, ``witness``,
        ``most_typical``, ``node_witness``, ``nodes`` and ``to_dict()`` have the rest.

    Notes
    -----
    The effect is the distance of the two means by the deviation of graphs within populations, in
    the space of the mean of all kernels K_2 (of inner products, if only nodes are compared); its
    interval comes from halves of the data. It is infinite where populations differ and the graphs
    of each are all alike. Return probabilities do not see the unit of weights. They see the number
    of nodes: of long walks they tend to degree by volume, about 1/n. Groups whose sizes differ are
    a warning; ``compare="nodes"`` with ``walks=Walks(n_steps=2)`` hardly sees size.

    Examples
    --------
    >>> import numpy as np
    >>> from retgk import as_batch, two_sample_test
    >>> rng = np.random.default_rng(0)
    >>> def random_graph(p):
    ...     upper = np.triu(rng.random((20, 20)) < p, 1)
    ...     return (upper | upper.T).astype(float)
    >>> sparse = [random_graph(0.15) for _ in range(10)]
    >>> dense = [random_graph(0.3) for _ in range(10)]
    >>> result = two_sample_test(sparse, dense, n_permutations=999, rng=0)
    >>> result.p_value
    0.001
    >>> print(str(result).splitlines()[1])
    p = 0.001 from 999 relabellings: they differ at the 5 % level.
    """
    populations = (A,) if B is None else (A, B)
    found = grouping_of(populations, _targets_by(A, B, by))
    if len(found.names) != 2:
        raise InvalidInputError(
            f"by has {len(found.names)} different values; two_sample_test takes two, k_sample_test "
            "takes more"
        )
    settings = Settings.checked(n_permutations, confidence, n_jobs, rng, subnetwork_p)
    how = (compare, bandwidths, depths, engine, options, nodes_correspond)
    family = KernelFamily.checked(kernel, *how)
    design = design_of(groups, pairs, subjects, found.codes)
    warn_of_sizes(found, family)
    return _group_test(found, family, design, settings)


def k_sample_test(
    *populations: GraphsLike,
    by: Any = None,
    kernel: GraphKernel | Sequence[GraphKernel] | None = None,
    compare: Compare = "both",
    bandwidths: Several = _BANDWIDTHS,
    depths: Several = _DEPTHS,
    groups: Any = None,
    subjects: Any = None,
    nodes_correspond: bool = False,
    subnetwork_p: float | None = None,
    n_permutations: int = _N_PERMUTATIONS,
    confidence: float | None = 0.95,
    engine: EngineChoice = "auto",
    n_jobs: int | None = None,
    rng: Rng = None,
    **options: Any,
) -> PopulationTest:
    """
    Test whether any of several populations of graphs differ.

    The statistic of a kernel is the mean of the unbiased squared MMD over all pairs of populations,
    which count by the product of their sizes; all else is as in `two_sample_test`.

    Parameters
    ----------
    *populations : GraphBatch or anything that `as_batch` takes
        Two populations or more; or one collection, and `by`.
    by : array-like, optional
        Group of every graph of one collection.
    kernel, compare, bandwidths, depths, groups, subjects, nodes_correspond, subnetwork_p
        As in `two_sample_test`.
    n_permutations, confidence, engine, n_jobs, rng, **options
        As in `two_sample_test`.

    Returns
    -------
    PopulationTest
        As from `two_sample_test`; ``affinities`` says how much every graph is like each group, and
        ``pairwise`` which pairs of groups differ, with p-values that are corrected for all pairs.

    Examples
    --------
    >>> from retgk.datasets import make_graph_classification
    >>> from retgk.stats import k_sample_test
    >>> data = make_graph_classification(n_graphs=30, n_classes=3, rng=0)
    >>> k_sample_test(data.graphs, by=data.targets, n_permutations=999, rng=0).kind
    'k-sample'
    """
    first = populations[0] if len(populations) == 1 else None
    found = grouping_of(populations, _targets_by(first, None, by))
    settings = Settings.checked(n_permutations, confidence, n_jobs, rng, subnetwork_p)
    how = (compare, bandwidths, depths, engine, options, nodes_correspond)
    family = KernelFamily.checked(kernel, *how)
    design = design_of(groups, False, subjects, found.codes)
    warn_of_sizes(found, family)
    result = _group_test(found, family, design, settings)
    if len(found.names) == 2:
        return result

    def test_pair(first: int, second: int) -> PopulationTest | None:
        graphs = np.flatnonzero((found.codes == first) | (found.codes == second))
        codes = (found.codes[graphs] == second).astype(np.int64)
        names = (found.names[first], found.names[second])
        of_graphs = found.graph_names and tuple(found.graph_names[graph] for graph in graphs)
        pair = Grouping(found.batch[graphs], codes, names, found.are_apart, of_graphs)
        own = [None if each is None else np.asarray(each)[graphs] for each in (groups, subjects)]
        try:
            return _group_test(pair, family, design_of(own[0], False, own[1], codes), settings)
        except InvalidInputError:  # they never meet in a block, or in a subject
            return None

    return replace(result, test_pair=test_pair)


def association_test(
    graphs: GraphsLike,
    y: Any = None,
    *,
    kind: ValueKind = "auto",
    kernel: GraphKernel | Sequence[GraphKernel] | None = None,
    compare: Compare = "both",
    bandwidths: Several = _BANDWIDTHS,
    depths: Several = _DEPTHS,
    groups: Any = None,
    subjects: Any = None,
    nodes_correspond: bool = False,
    subnetwork_p: float | None = None,
    n_permutations: int = _N_PERMUTATIONS,
    confidence: float | None = 0.95,
    engine: EngineChoice = "auto",
    n_jobs: int | None = None,
    rng: Rng = None,
    **options: Any,
) -> PopulationTest:
    """
    Test whether graphs go with a number, with several numbers, or with categories, by HSIC.

    The statistic of a kernel is the unbiased Hilbert-Schmidt independence criterion (Song et al.,
    2012) between the kernel of graphs and a kernel of values: of numbers, which are standardised,
    a Gaussian at the median of their distances; of categories, whether they are equal. Kernels are
    combined, and p-values found, as in `two_sample_test`.

    Parameters
    ----------
    graphs : GraphBatch or anything that `as_batch` takes
        Four graphs or more. The effect has an interval from eight on (with `groups`, eight in
        each, or eight groups).
    y : array-like, shape (n_graphs,) or (n_graphs, n_values), optional
        Values; by default the targets of a data set.
    kind : {"auto", "number", "category"}, default="auto"
        What values are; "auto" takes numbers for numbers and all else for categories.
    groups, subjects : array-like, optional
        Block and subject of every graph, as in `two_sample_test`: values are permuted within
        blocks, and within subjects unless all graphs of each have the same value.
    kernel, compare, bandwidths, depths, nodes_correspond, subnetwork_p
        As in `two_sample_test`.
    n_permutations, confidence, engine, n_jobs, rng, **options
        As in `two_sample_test`.

    Returns
    -------
    PopulationTest
        Its effect is the correlation of the two kernels, about 0 without an association.

    Examples
    --------
    >>> import numpy as np
    >>> from retgk.stats import association_test
    >>> cycles = [np.roll(np.eye(n), 1, 1) + np.roll(np.eye(n), -1, 1) for n in range(4, 16)]
    >>> association_test(cycles, range(4, 16), n_permutations=999, rng=0).p_value
    0.001
    """
    batch = as_batch(graphs)
    if nodes_correspond:
        check_same_nodes(batch)
    values = targets_of(graphs, y)
    if values is None:
        raise InvalidInputError("y is missing; give one value for each graph, or a data set")
    settings = Settings.checked(n_permutations, confidence, n_jobs, rng, subnetwork_p)
    how = (compare, bandwidths, depths, engine, options, nodes_correspond)
    family = KernelFamily.checked(kernel, *how)
    given = checked_values(values, len(batch), kind)
    design = design_of(groups, False, subjects, given.codes)
    check_enough(design)
    columns = given.columns(design, settings.seed)
    work = Work.of(batch, family, design, settings)
    effect = association_effect(
        design.of_units(work.mean_kernel),
        columns,
        design.blocks,
        settings.confidence,
        settings.seed,
    )
    form = partial(association_form, columns=columns, blocks=design.blocks)
    tables = work.correspondence(
        form,
        partial(kernel_correlation, columns=columns, blocks=design.blocks),
        given.linear(design),
        np.ones((len(batch), 1)),
    )
    return work.result("association", form, effect=effect, codes=given.codes, **tables)


def _targets_by(A: Any, B: Any, by: Any) -> Any:
    return by if B is not None else targets_of(A, by)


def _group_test(
    found: Grouping,
    family: KernelFamily,
    design: Design,
    settings: Settings,
) -> PopulationTest:
    if family.nodes_correspond:
        check_same_nodes(found.batch)
    check_comparable(design, found.names)
    work = Work.of(found.batch, family, design, settings)
    effect = group_effect(
        design.of_units(work.mean_kernel),
        design.codes,
        design.blocks,
        settings.confidence,
        settings.seed,
    )
    form = partial(group_form, codes=design.codes, blocks=design.blocks)

    def effect_of_node(kernel: Floats) -> float:
        return float(max(squared_effect(form(kernel), kernel, design.codes), 0.0) ** 0.5)

    tables = work.correspondence(
        form, effect_of_node, group_columns(design.codes), group_columns(found.codes)
    )
    return work.result(
        "two-sample" if len(found.names) == 2 else "k-sample",
        form,
        codes=found.codes,
        effect=effect,
        group_names=found.names,
        are_apart=found.are_apart,
        graph_names=found.graph_names,
        affinities=affinities(work.mean_kernel, found.codes, design.units),
        evidence=work.evidence(found.codes),
        **tables,
    )
