"""Graphs of a test with their groups, values and blocks, checked before any work is done."""

from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from retgk._runtime.names import check_keywords
from retgk._runtime.parallel import progress_bar
from retgk._runtime.parameters import (
    DEPTH,
    Constraints,
    Number,
    OneOf,
    check_parameters,
    several,
)
from retgk._runtime.processes import check_room
from retgk.array_types import Floats, Ints
from retgk.errors import InputWarning, InvalidInputError, warn_user
from retgk.estimators.kernel import RetGK, new_engine, new_features
from retgk.graphs.batch import GraphBatch, check_alike
from retgk.io.convert import CONVERT_FIRST, GraphsLike, as_batch, batch_like
from retgk.io.dataset import missing_targets, target_array
from retgk.kernels.engine import NodeFeatures
from retgk.kernels.exact import DEFAULT_TOL, ExactEngine
from retgk.kernels.graph import (
    ALIKE,
    ExponentialGraphKernel,
    PolynomialGraphKernel,
    fit_graph_kernel,
    squared_mmd_within,
)
from retgk.kernels.kernel import GraphKernel
from retgk.kernels.node import Delta, Gaussian, Laplacian, median_distance
from retgk.stats.correspondence import EdgeWeights, NodeKernels
from retgk.stats.statistics import Relabellings, can_compare, factor, group_columns

ValueKind = Literal["auto", "number", "category"]

_LEAST_GRAPHS = 2  # of a group, for a mean over pairs within it
_LEAST_FOR_HSIC = 4
_FEW_WAYS = 40  # of relabelling; half of them are the other half with the labels swapped
_MANY_WAYS = 1_000_000


@dataclass(frozen=True, eq=False)
class Grouping:
    """Graphs of all groups in one batch, the group of each, and the names of the groups."""

    batch: GraphBatch
    codes: Ints
    names: tuple[Any, ...]
    are_apart: bool
    graph_names: tuple[str, ...] | None = None


def grouping_of(populations: tuple[Any, ...], by: Any) -> Grouping:
    if by is None:
        found = _joined(populations)
    else:
        if len(populations) != 1:
            raise InvalidInputError(
                f"by splits one collection of graphs, got {len(populations)}; leave out by, or "
                "give all graphs together"
            )
        batch = as_batch(populations[0])
        values = _one_each(by, len(batch), "by")
        names, codes = np.unique(values, return_inverse=True)
        found = Grouping(batch, codes.reshape(-1), tuple(names.tolist()), False)
    if len(found.names) < 2:
        raise InvalidInputError(
            f"there is one group of {len(found.batch)} graphs; a test compares two or more"
        )
    counts = np.bincount(found.codes, minlength=len(found.names))
    if counts.min() < _LEAST_GRAPHS:
        name = found.names[int(counts.argmin())]
        raise InvalidInputError(
            f"group {name} has {counts.min()} graph; a test needs {_LEAST_GRAPHS} or more in each, "
            "to see how much they vary; association_test (--association) is for numbers, as ages"
        )
    return replace(found, graph_names=_graph_names(populations))


def _graph_names(populations: tuple[Any, ...]) -> tuple[str, ...] | None:
    """Names of all graphs, where all data sets have some."""
    names: list[Any] = [getattr(graphs, "graph_names", None) for graphs in populations]
    if any(own is None for own in names):
        return None
    return tuple(str(name) for own in names for name in own)


def _joined(populations: tuple[GraphsLike, ...]) -> Grouping:
    if not populations:
        raise InvalidInputError("there are no graphs to test; give two or more populations")
    if len(populations) == 1:
        raise InvalidInputError(
            "got one collection of graphs; give a second one, or say with by= which group each "
            "graph belongs to"
        )
    first = as_batch(populations[0])
    parts = [first]
    for number, graphs in enumerate(populations[1:], 2):
        part = batch_like(graphs, first.reading, "those of population 1")
        own = f"population {number} has"
        check_alike(part, first.has_labels, first.n_attributes, own, "population 1 has")
        parts.append(part)
    codes = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    names = tuple(f"population {number}" for number in range(1, len(parts) + 1))
    return Grouping(GraphBatch.concatenate(parts), codes, names, True)


def _one_each(values: Any, n_graphs: int, name: str) -> NDArray[Any]:
    found = target_array(values)
    if found.ndim != 1 or len(found) != n_graphs:
        got = f"{len(found)} values" if found.ndim == 1 else f"shape {found.shape}"
        raise InvalidInputError(
            f"{name} must have one value for each of {n_graphs} graphs, got {got}"
        )
    missing = missing_targets(found)
    if missing.any():
        raise InvalidInputError(
            f"{name} has no value for graph {int(np.argmax(missing))}; drop that graph, or give one"
        )
    return found


_FEW_STEPS = 2  # with more, means of return probabilities tell sizes that differ
_SIZES_DIFFER = 0.01


def warn_of_sizes(found: Grouping, family: "KernelFamily") -> None:
    """Warn where groups differ in their numbers of nodes, and the test would see that."""
    from scipy.stats import kruskal

    counts = found.batch.node_counts
    n_steps = getattr(family.options.get("walks"), "n_steps", np.inf)
    few_steps = family.compare == "nodes" and n_steps <= _FEW_STEPS
    if family.given or family.nodes_correspond or few_steps:
        return
    groups = [counts[found.codes == code] for code in range(len(found.names))]
    if (counts == counts[0]).all() or kruskal(*groups).pvalue >= _SIZES_DIFFER:
        return
    means = [float(own.mean()) for own in groups]
    few, many = int(np.argmin(means)), int(np.argmax(means))
    warn_user(
        InputWarning(
            f"graphs of {found.names[few]} have {means[few]:.1f} nodes on average, those of "
            f"{found.names[many]} {means[many]:.1f}, and the test sees size as well: long walks "
            "return with probabilities of about 1/n. compare='nodes' with Walks(n_steps=2) "
            "hardly sees it"
        )
    )


# blocks, pairs and subjects

DesignKind = Literal["free", "blocks", "pairs", "within subjects", "between subjects"]


@dataclass(frozen=True, eq=False)
class Design:
    """What gets other labels: each graph, or the mean of a subject; within blocks, where given."""

    kind: DesignKind
    codes: Ints
    """Label of each unit, which is a graph or a subject."""
    blocks: Ints | None = None
    units: Ints | None = None
    """Unit of each graph; None where graphs are the units."""

    def means(self, rows: Floats) -> Floats:
        """Rows of graphs as rows of units."""
        if self.units is None:
            return rows
        return (group_columns(self.units).T @ rows) / np.bincount(self.units)[:, None]

    def of_units(self, kernel: Floats) -> Floats:
        """Kernel of graphs as a kernel of units: of the means of their features."""
        return kernel if self.units is None else self.means(self.means(kernel).T)

    @property
    def representatives(self) -> Ints:
        """One graph of each unit."""
        units = np.arange(len(self.codes)) if self.units is None else self.units
        return np.unique(units, return_index=True)[1]


def design_of(groups: Any, pairs: Any, subjects: Any, codes: Ints) -> Design:
    """Design of a user's groups, pairs or subjects; labels that cannot change are an error."""
    if not isinstance(pairs, bool | np.bool_):
        raise InvalidInputError(
            "pairs is True or False; name the subject of every graph with subjects="
        )
    if pairs and subjects is not None:
        raise InvalidInputError("pairs and subjects both say what belongs together; give one")
    blocks = None if groups is None else _numbered(groups, len(codes), "groups")[1]
    if not pairs and subjects is None:
        return Design("free" if blocks is None else "blocks", codes, _permutable(blocks, codes))
    if pairs:
        names, own = np.arange(len(codes) // 2), _pairs_in_order(codes)
    else:
        names, own = _numbered(subjects, len(codes), "subjects")
    visits = np.unique(np.column_stack([own, codes]), axis=0)
    if len(visits) == len(names):  # one label each
        return _between_subjects(names, own, codes, blocks)
    kind: DesignKind = "pairs" if pairs else "within subjects"
    if blocks is None:
        return Design(kind, codes, own)
    own = np.unique(np.column_stack([own, blocks]), axis=0, return_inverse=True)[1].reshape(-1)
    return Design(kind, codes, _permutable(own, codes))


def _between_subjects(names: NDArray[Any], units: Ints, codes: Ints, blocks: Ints | None) -> Design:
    first = np.unique(units, return_index=True)[1]
    if blocks is not None:
        moved = blocks != blocks[first][units]
        if moved.any():
            raise InvalidInputError(
                f"subject {names[units[int(np.argmax(moved))]]} has graphs in two groups, such as "
                "sites, and one label: whose labels it may swap with is not known; give one group "
                "to all graphs of a subject"
            )
        blocks = blocks[first]
    return Design("between subjects", codes[first], _permutable(blocks, codes[first]), units)


def _permutable(blocks: Ints | None, codes: Ints) -> Ints | None:
    if blocks is None:
        return None
    known, group = np.unique(blocks, return_inverse=True)
    table = np.zeros((len(known), int(codes.max(initial=0)) + 1), np.int64)
    np.add.at(table, (group, codes), 1)
    if ((table > 0).sum(axis=1) == 1).all():
        raise InvalidInputError(
            "every group holds graphs of one label only, so nothing can be permuted within groups; "
            "groups are for what both sides have in common, such as the site of a scan"
        )
    n_moving = int(table[(table > 0).sum(axis=1) > 1].sum())
    n_ways = Relabellings(codes, blocks, 1, 0).n_distinct
    if 2 * n_moving < len(codes) or n_ways < _FEW_WAYS:
        ways = f"{n_ways:,}" if n_ways < _MANY_WAYS else f"over {_MANY_WAYS:,}"
        warn_user(
            InputWarning(
                f"groups has {len(table)} values for {len(codes)} graphs: {n_moving} of them are "
                f"in groups of more than one label, and can be relabelled in {ways} ways (no "
                f"p-value is below {1 / n_ways:.2g}); groups are for what many graphs share, such "
                "as a site: make few of many values (decades of ages), give subjects=, or leave "
                "groups out"
            )
        )
    return blocks


def check_comparable(design: Design, names: tuple[Any, ...] = ()) -> None:
    counts = np.bincount(design.codes)
    if names and counts.min() < _LEAST_GRAPHS:
        raise InvalidInputError(
            f"group {names[int(counts.argmin())]} has graphs of one subject; a test needs "
            f"{_LEAST_GRAPHS} or more subjects in each, to see how much they vary"
        )
    if not can_compare(design.codes, design.blocks):
        raise InvalidInputError(
            "blocks have too few graphs of different labels to see how much they vary; two labels "
            "must meet in two blocks, or in one of three graphs or more"
        )


def check_enough(design: Design) -> None:
    if len(design.codes) < _LEAST_FOR_HSIC:
        raise InvalidInputError(
            f"there are {len(design.codes)} subjects of one value each; an association needs "
            f"{_LEAST_FOR_HSIC} or more"
        )


def _numbered(values: Any, n_graphs: int, name: str) -> tuple[NDArray[Any], Ints]:
    found, numbers = np.unique(_one_each(values, n_graphs, name), return_inverse=True)
    return found, numbers.reshape(-1)


def _pairs_in_order(codes: Ints) -> Ints:
    counts = np.bincount(codes)
    if len(counts) != 2:
        raise InvalidInputError(
            f"pairs are for two groups, there are {len(counts)}; name the subject of every graph "
            "with subjects="
        )
    if counts[0] != counts[1]:
        raise InvalidInputError(
            f"the groups have {counts[0]} and {counts[1]} graphs, so they are not pairs in their "
            "order; name the subject of every graph with subjects="
        )
    found = np.empty(len(codes), np.int64)
    for code in (0, 1):
        found[codes == code] = np.arange(counts[0])
    return found


# values to be associated with


@dataclass(frozen=True, eq=False)
class Values:
    """Values of graphs: numbers (None for categories), and which of the distinct ones each is."""

    numbers: Floats | None
    codes: Ints

    def linear(self, design: Design) -> Floats:
        """Columns of a linear model of the values of units."""
        graphs = design.representatives
        if self.numbers is None:
            return group_columns(self.codes)[graphs]
        return _standardised(self.numbers[graphs])

    def columns(self, design: Design, seed: int) -> Floats:
        """Columns V of the kernel ``V V^T`` of the values of units."""
        graphs = design.representatives
        if self.numbers is None:
            return factor(Delta()(self.codes[graphs], self.codes[graphs]))
        return factor(_number_kernel(self.numbers[graphs], seed))


def checked_values(y: Any, n_graphs: int, kind: Any) -> Values:
    """Values, one for each graph, or several numbers for each."""
    check_parameters({"kind": (OneOf(get_args(ValueKind)),)}, {"kind": kind})
    if n_graphs < _LEAST_FOR_HSIC:
        raise InvalidInputError(
            f"there are {n_graphs} graphs; an association needs {_LEAST_FOR_HSIC} or more"
        )
    found = target_array(y)
    if found.ndim == 2 and len(found) == n_graphs and kind != "category":
        for number, column in enumerate(found.T):
            _one_each(column, n_graphs, f"column {number} of y")
    else:
        found = _one_each(found, n_graphs, "y")[:, None]
    is_category = kind == "category" or (kind == "auto" and found.dtype.kind not in "iuf")
    if is_category:
        codes = np.unique(found[:, 0].astype(str), return_inverse=True)[1].reshape(-1)
    else:
        found = _finite_numbers(found)
        codes = np.unique(found, axis=0, return_inverse=True)[1].reshape(-1)
    if codes.max() == 0:
        raise InvalidInputError("y is the same for all graphs; there is nothing to go with")
    return Values(None if is_category else found, codes)


def _finite_numbers(values: NDArray[Any]) -> Floats:
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(f"y must be numbers where kind='number': {error}") from error
    if not np.isfinite(numbers).all():
        graph = int(np.argmax(~np.isfinite(numbers).all(axis=1)))
        raise InvalidInputError(f"y of graph {graph} is not finite; drop that graph")
    return numbers


def _number_kernel(numbers: Floats, seed: int) -> Floats:
    """Gaussian kernel of numbers at the median of their distances; columns are standardised."""
    numbers = _standardised(numbers)
    each = np.arange(len(numbers) + 1)
    return Gaussian("median").fitted(numbers, each, seed)(numbers, numbers)


def _standardised(numbers: Floats) -> Floats:
    # exact, and squares of what it gives neither overflow nor vanish
    numbers = np.ldexp(numbers, -np.frexp(np.abs(numbers).max(axis=0))[1])
    spread = numbers.std(axis=0)
    return np.asarray((numbers - numbers.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


# Kernel matrices of a test, one for each bandwidth and depth, from one computation of walks.

Compare = Literal["both", "graphs", "nodes"]
EngineChoice = Literal["auto", "exact", "embedded"]

_MEDIAN_NODES = 1000
_EXACT_NODES = 100_000  # above, all pairs of nodes take minutes for each bandwidth
_N_COMPONENTS = 500
_CONSTRAINTS: Constraints = {
    "compare": (OneOf(get_args(Compare)),),
    "engine": (OneOf(get_args(EngineChoice)),),
    "bandwidths": several(Number("()", 0)),
    "depths": several(DEPTH["depth"][0]),
}


@dataclass(frozen=True)
class KernelFamily:
    """Which kernels a test combines; its fields are parameters of `two_sample_test`."""

    compare: Compare = "both"
    bandwidths: tuple[float, ...] = (1.0,)
    depths: tuple[int, ...] = (0,)
    engine: EngineChoice = "auto"
    options: dict[str, Any] = field(default_factory=dict)
    given: tuple[GraphKernel, ...] = ()
    nodes_correspond: bool = False

    @classmethod
    def checked(
        cls,
        kernel: Any,
        compare: Any,
        bandwidths: Any,
        depths: Any,
        engine: Any,
        options: dict[str, Any],
        nodes_correspond: Any,
    ) -> "KernelFamily":
        if kernel is not None:
            if nodes_correspond:
                raise InvalidInputError(
                    "nodes_correspond has kernels of its own; leave kernel out, or nodes_correspond"
                )
            return cls("graphs", engine="exact", given=_checked_kernels(kernel, options))
        check_keywords(options, _node_parameters(), "a test of populations", CONVERT_FIRST)
        widths, rounds = _listed("bandwidths", bandwidths), _listed("depths", depths)
        given = {"compare": compare, "engine": engine, "bandwidths": widths, "depths": rounds}
        check_parameters(_CONSTRAINTS, given)
        each_depth = dict.fromkeys(int(depth) for depth in rounds)
        own = (compare, tuple(map(float, widths)), tuple(each_depth), engine, options)
        return cls(*own, nodes_correspond=bool(nodes_correspond))

    @property
    def compared(self) -> list[str]:
        return ["graphs", "nodes"] if self.compare == "both" else [self.compare]

    @property
    def n_kernels(self) -> int:
        if self.given:
            return len(self.given)
        if self.nodes_correspond:
            return ("nodes" in self.compared) + len(self.bandwidths) * ("graphs" in self.compared)
        return len(self.bandwidths) * len(self.depths) * len(self.compared)

    def chosen_engine(self, batch: GraphBatch) -> str:
        if self.engine != "auto":
            return self.engine
        return "exact" if batch.n_nodes <= _EXACT_NODES else "embedded"

    def node_engine(self, kernel: Laplacian, n_jobs: int | None, seed: int) -> ExactEngine:
        """Unfitted engine that knows what attributes of nodes count."""
        return ExactEngine(
            kernel,
            self.options.get("attributes"),
            scale_attributes=self.options.get("scale_attributes", "raw"),
            tol=self.options.get("tol", DEFAULT_TOL),
            n_jobs=n_jobs,
            random_state=seed,
        )


def _checked_kernels(kernel: Any, options: dict[str, Any]) -> tuple[GraphKernel, ...]:
    kernels = tuple(kernel) if isinstance(kernel, list | tuple) else (kernel,)
    for own in kernels:
        if not isinstance(own, GraphKernel):
            raise InvalidInputError(
                f"kernel must be a kernel such as WeisfeilerLehman(), or several, got {own!r:.80}"
            )
    if options or not kernels:
        name = next(iter(options), "kernel")
        raise InvalidInputError(
            f"{name} is a parameter of RetGK; with kernel= give it there: RetGK({name}=...)"
        )
    return kernels


def _listed(name: str, values: Any) -> list[Any]:
    found = list(values) if np.ndim(values) == 1 else [values]
    if not found:
        raise InvalidInputError(f"{name} is empty; give at least one")
    return found


@cache
def _node_parameters() -> list[str]:
    own = {"structure", "depth", "level_weights", "graph_kernel", "impute_attributes"}
    own |= {"n_components", "feature_map", "n_jobs", "random_state"}
    return [name for name in RetGK().get_params(deep=False) if name not in own]


@dataclass(frozen=True, eq=False)
class GraphKernelMatrix:
    values: Floats
    compare: str
    bandwidth: float
    depth: int
    kernel: str = ""


def kernel_matrices(
    batch: GraphBatch, family: KernelFamily, n_jobs: int | None, seed: int
) -> tuple[list[GraphKernelMatrix], NodeFeatures | None, Laplacian]:
    """Kernel matrices of a family, their features, and the kernel of median bandwidth."""
    remedy = "give fewer graphs, or fewer bandwidths and depths"
    check_room(8 * len(batch) ** 2 * (2 * family.n_kernels + 2), "the kernel matrices", remedy)
    if family.given:
        return _given_matrices(batch, family, n_jobs, seed), None, Laplacian(1.0)
    model = RetGK(**family.options, n_jobs=n_jobs, random_state=seed)
    engine = new_engine(model)
    engine.check(batch)
    features = new_features(model, engine, batch)
    # copies that share walks are alike in their errors, which those with their nodes in another
    # order are not: equal populations would differ, as labels are not exchangeable
    features = replace(features, walks=replace(features.walks, copies_share=False))
    median = Laplacian(1.0 / _median(features.probabilities))
    if family.nodes_correspond:
        engine = family.node_engine(median, n_jobs, seed)
        kernels = NodeKernels(features, engine, EdgeWeights.of(batch))
        return _corresponding_matrices(kernels, family), features, median
    found = []
    with progress_bar("kernels", family.n_kernels) as advance:
        for width in family.bandwidths:
            kernel = replace(median, gamma=median.scale / width)
            for depth, products in _products(features, family, model, kernel):
                for compare in family.compared:
                    values = _graph_kernel(products, compare, n_jobs)
                    found.append(GraphKernelMatrix(values, compare, width, depth))
                    advance(1)
    return found, features, median


def _corresponding_matrices(kernels: NodeKernels, family: KernelFamily) -> list[GraphKernelMatrix]:
    """Gaussian kernels of matrices, and the mean kernel of nodes that correspond."""
    found = []
    if "graphs" in family.compared:
        made = kernels.weights.kernels(family.bandwidths)
        for width, values in zip(family.bandwidths, made, strict=True):
            name = f"Gaussian kernel of matrices, bandwidth {width:g}"
            found.append(GraphKernelMatrix(values, "graphs", width, 0, name))
    if "nodes" in family.compared:
        name = "mean kernel of corresponding nodes"
        found.append(GraphKernelMatrix(kernels.mean(), "nodes", 1.0, 0, name))
    return found


def _given_matrices(
    batch: GraphBatch, family: KernelFamily, n_jobs: int | None, seed: int
) -> list[GraphKernelMatrix]:
    """Matrices of the kernels that a user gives."""
    found = []
    with progress_bar("kernels", family.n_kernels) as advance:
        for kernel in family.given:
            values = kernel.with_common(n_jobs, seed).fit(batch).gram()
            values = np.ascontiguousarray((values + values.T) / 2)
            found.append(GraphKernelMatrix(values, "graphs", np.nan, 0, repr(kernel)))
            advance(1)
    return found


def _median(probabilities: Floats) -> float:
    """Median distance of nodes, whatever their order."""
    order = np.lexsort(probabilities.T)
    places = np.linspace(0, len(order) - 1, min(len(order), _MEDIAN_NODES)).round().astype(int)
    some = probabilities[order[places]]
    return median_distance(some, np.arange(len(some) + 1))  # every node a graph: none is drawn


def _products(
    features: NodeFeatures, family: KernelFamily, model: RetGK, kernel: Laplacian
) -> list[tuple[int, Floats]]:
    """Inner products of mean embeddings at every depth."""
    deepest = max(family.depths)
    if family.chosen_engine(features.batch) == "exact":
        engine = new_engine(clone(model).set_params(structure=kernel, depth=deepest)).fit(features)
        return [
            (depth, (engine if depth == deepest else engine.at_depth(depth)).inner_products())
            for depth in family.depths
        ]
    found = []
    for depth in family.depths:
        own = {"structure": kernel, "depth": depth, "n_components": _N_COMPONENTS}
        embedded = new_engine(clone(model).set_params(**own)).fit(features)
        found.append((depth, np.asarray(embedded.inner_products(), np.float64)))
    return found


def _graph_kernel(products: Floats, compare: str, n_jobs: int | None) -> Floats:
    kernel = ExponentialGraphKernel() if compare == "graphs" else PolynomialGraphKernel()
    norms = products.diagonal().copy()
    values = fit_graph_kernel(kernel, products, n_jobs)(products, norms, norms)
    if compare == "graphs":
        # K_2 is steepest at 0: roots of rounding would tell equal graphs apart
        values[squared_mmd_within(products) <= ALIKE * norms.max()] = 1.0
    return np.ascontiguousarray((values + values.T) / 2)
