"""The deep graph kernel: substructures compared by what they occur together with."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from retgk._runtime.fields import check_shape, stored
from retgk._runtime.names import RandomState, whole_seed
from retgk._runtime.parallel import single_threaded_blas
from retgk._runtime.parameters import PEERS, ROUNDS, START, Number, OneOf, Whole
from retgk._runtime.processes import check_room
from retgk.array_types import Floats, Ints
from retgk.errors import InputWarning, InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.flat import offsets
from retgk.kernels.graph import divide_by_norms
from retgk.kernels.others.base import Compared, LabelColumns, PeerEngine, PeerKernel
from retgk.kernels.others.counts import CountEngine, GraphCounts
from retgk.kernels.others.graphlets import GraphletCounter, samples_for
from retgk.kernels.others.shortest_path import PathCounter
from retgk.kernels.others.weisfeiler_lehman import ColourCounter
from retgk.kernels.refinement import Start

# Vectors of substructures from how often they occur together: shifted PMI, factorised.

_DENSE_COLUMNS = 1024  # up to here all eigenvalues are found at once
_MORE = 16  # eigenvalues computed beyond the last one, which may be equal to it
_MOST = 1024  # and the limit if these are equal too
_TIE = 1e-9  # of the largest eigenvalue


def pairs_in_graphs(counts: GraphCounts, ends: Any, least_graphs: int) -> Any:
    """Count pairs of substructures in the same graph, within runs of columns."""
    from scipy.sparse import block_diag, csr_array, diags_array

    matrix = counts.sparse()
    n_graphs = np.bincount(matrix.indices, minlength=matrix.shape[1])
    kept = n_graphs[matrix.indices] >= least_graphs
    ptr = np.concatenate([[0], np.cumsum(kept)])[matrix.indptr]
    parts = (matrix.data[kept], matrix.indices[kept], ptr)
    matrix = csr_array(parts, shape=matrix.shape).tocsc()
    blocks = [matrix[:, start:stop] for start, stop in pairwise(ends)]
    # as floating-point numbers: squares of 32-bit numbers run over from 46,341 colours on
    n_pairs = sum(int(np.square(np.diff(b.tocsr().indptr).astype(float)).sum()) for b in blocks)
    remedy = "use a larger min_graphs or a smaller n_iter, or fit fewer graphs"
    check_room(16 * n_pairs, "the table of substructures that occur together", remedy)
    found = [
        (block.T @ block - diags_array(np.asarray(block.sum(axis=0)).ravel())) for block in blocks
    ]
    return csr_array(block_diag(found))


def substructure_vectors(pairs: Any, n_components: int, n_negatives: float, seed: int) -> Floats:
    r"""
    Vectors whose inner products are nearest to the shifted, positive PMI of pairs.

    With :math:`S_{ij} = \max(0, \log \frac{n_{ij} n}{n_i n_j} - \log k)` for k negatives, they
    minimise :math:`\sum_{ij} n_i n_j (S_{ij} - \langle e_i, e_j \rangle)^2`. Skip-gram meets a pair
    as a negative sample with these weights: without them, most coordinates would be spent on the
    rare substructures of a few large graphs. For :math:`N = \mathrm{diag}(n_i / n)` and the largest
    positive eigenvalues of :math:`N^{1/2} S N^{1/2} = U \Lambda U^\top`, vectors are the rows of
    :math:`N^{-1/2} U \Lambda^{1/2}`.
    """
    from scipy.sparse import coo_array

    entries = coo_array(pairs, dtype=np.float64)
    entries.eliminate_zeros()
    rows, columns = entries.row, entries.col
    totals = np.asarray(entries.sum(axis=0)).ravel()
    ratios = entries.data * totals.sum() / (totals[rows] * totals[columns])
    values = np.log(ratios) - np.log(n_negatives)
    kept = values > 0
    used, places = np.unique(rows[kept], return_inverse=True)
    vectors = np.zeros((len(totals), 0))
    if len(used):
        shape = (len(used), len(used))
        place_of_column = np.searchsorted(used, columns[kept])  # symmetric: the same are used
        roots = np.sqrt(totals[used] / totals[used].sum())
        weighted = values[kept] * roots[places] * roots[place_of_column]
        matrix = coo_array((weighted, (places, place_of_column)), shape=shape).tocsr()
        own = _factor(matrix, n_components, seed) / roots[:, np.newaxis]
        vectors = np.zeros((len(totals), own.shape[1]))
        vectors[used] = own
    return vectors


def _factor(matrix: Any, n_components: int, seed: int) -> Floats:
    with single_threaded_blas():
        values, vectors = _largest_eigenvalues(matrix, n_components, seed)
    tie, last = _tie_and_last(values, n_components)
    is_cut = len(values) < matrix.shape[0] and values[-1] > last - tie  # equal ones are missing
    n_kept = int((values > max(tie, last + tie if is_cut else last - tie)).sum())
    return np.ascontiguousarray(vectors[:, :n_kept] * np.sqrt(values[:n_kept]))


def _largest_eigenvalues(matrix: Any, n_components: int, seed: int) -> tuple[Floats, Floats]:
    """So many eigenvalues and their vectors, and all that are equal to the last of these."""
    from scipy.sparse.linalg import eigsh

    n, n_found = matrix.shape[0], n_components + _MORE
    start = np.random.default_rng(seed).normal(size=n)
    while True:
        if n <= max(_DENSE_COLUMNS, 2 * n_found):
            values, vectors = np.linalg.eigh(matrix.toarray())
        else:
            values, vectors = eigsh(matrix, n_found, which="LA", v0=start)
        order = np.argsort(-values, kind="stable")
        values, vectors = values[order], vectors[:, order]
        tie, last = _tie_and_last(values, n_components)
        if len(values) == n or values[-1] <= max(last - tie, tie) or n_found >= _MOST:
            return values, vectors
        n_found = min(2 * n_found, max(_MOST, n_found))


def _tie_and_last(values: Floats, n_components: int) -> tuple[float, float]:
    """How near equal eigenvalues are, and the last one of those that are wanted."""
    return _TIE * max(float(values[0]), 0.0), float(values[min(n_components, len(values)) - 1])


# Kernels from vectors of substructures that are learnt from what these occur together with.

DeepBase = Literal["wl", "shortest-path", "graphlet"]
"""What substructures are."""

Similarity = Literal["lengths", "vectors"]
"""Of two substructures: the length of their vector if they are the same, or an inner product."""

BaseCounter = ColourCounter | PathCounter | GraphletCounter


@dataclass(frozen=True)
class VectorRules:
    """How vectors of substructures are learnt; the parameters of `DeepGraph`."""

    n_components: int
    n_negatives: float
    min_graphs: int
    n_samples: int
    random_state: RandomState = None

    def learn(
        self, counter: BaseCounter, batch: GraphBatch, n_jobs: int | None
    ) -> tuple[GraphCounts, Floats]:
        seed = whole_seed(self.random_state)
        if isinstance(counter, GraphletCounter):
            counter.random_state = seed
            counts = counter.fit(batch, n_jobs)
            pairs = counter.pairs(batch, self.n_samples, seed, n_jobs)
        else:
            counts = counter.fit(batch, n_jobs)
            # colours occur together within a round, paths with all others
            runs: Sequence[int] = [counts.n_columns]
            if isinstance(counter, ColourCounter):
                runs = counter.refinement.n_known
            pairs = pairs_in_graphs(counts, offsets(runs), min(self.min_graphs, len(batch)))
        vectors = substructure_vectors(pairs, self.n_components, self.n_negatives, seed)
        if not vectors.shape[1]:
            message = (
                "no two substructures occur together more often than by chance: there is nothing "
                "to learn, and the kernel is zero"
            )
            advice = "use more rounds, fewer negatives, or WeisfeilerLehman"
            warnings.warn(InputWarning(f"{message}; {advice}"), stacklevel=5)
        return counts, vectors


@stored
@dataclass
class LengthCounter:
    """Counts of substructures, times the roots of the lengths of their vectors."""

    counter: BaseCounter  # counts substructures
    rules: VectorRules | None = None
    """How vectors are learnt; not needed where lengths are restored."""
    unsaved_fields: ClassVar[tuple[str, ...]] = ("rules",)
    lengths: Floats = field(init=False)
    """Length of the vector of every substructure of the fitted graphs, shape (n_columns,)."""

    def fit(self, batch: GraphBatch, n_jobs: int | None) -> GraphCounts:
        assert self.rules is not None
        counts, vectors = self.rules.learn(self.counter, batch, n_jobs)
        self.lengths = np.sqrt(_squares(vectors))
        return self._weighted(counts)

    def counts(self, batch: GraphBatch, n_jobs: int | None) -> GraphCounts:
        return self._weighted(self.counter.counts(batch, n_jobs))

    def _weighted(self, found: GraphCounts) -> GraphCounts:
        """Counts that are weighted, with rising columns; what has no vector is left out."""
        matrix = found.sparse()
        values = matrix.data * np.sqrt(self.lengths)[matrix.indices]
        is_kept = values > 0
        ptr, columns = offsets(is_kept)[matrix.indptr], matrix.indices[is_kept].astype(np.int32)
        return GraphCounts(ptr, columns, values[is_kept], found.n_columns)

    @property
    def n_columns(self) -> int:
        return self.counter.n_columns

    def after_loading(self) -> None:
        check_shape("lengths", self.lengths, self.n_columns)
        if (self.lengths < 0).any():
            raise InvalidInputError("lengths of vectors are below 0")


@dataclass
class DeepEngine(PeerEngine):
    """
    Inner products of sums of vectors of substructures.

    `rules`, by which vectors are learnt, are not needed where they are restored.
    """

    counter: BaseCounter
    normalize: bool
    rules: VectorRules | None = None
    unsaved_fields: ClassVar[tuple[str, ...]] = ("rules",)
    substructures: Floats = field(init=False)
    """Vector of every substructure of the fitted graphs, shape (n_columns, n_components)."""
    vectors: Floats = field(init=False)
    """Vector of every fitted graph, shape (n_graphs, n_components)."""
    norms: Floats = field(init=False)
    kept: Ints | None = field(init=False, default=None)

    def taken(self, batch: GraphBatch, is_fit: bool, n_jobs: int | None) -> Floats:
        if is_fit:
            assert self.rules is not None
            counts, self.substructures = self.rules.learn(self.counter, batch, n_jobs)
        else:
            counts = self.counter.counts(batch, n_jobs)
        return np.asarray(counts.sparse() @ self.substructures)

    def store(self, taken: Floats) -> None:
        self.vectors = taken

    def own_products(self, taken: Floats, n_jobs: int | None = None) -> Floats:  # noqa: ARG002
        return _squares(taken)

    def matrix(self, n_jobs: int | None) -> Floats:
        out = self.rows(self.vectors, self.norms, n_jobs)
        if self.normalize:
            divide_by_norms(out, self.norms, self.norms)
        np.fill_diagonal(out, self.norms > 0 if self.normalize else self.norms)
        return np.asarray(np.tril(out) + np.tril(out, -1).T)

    def rows(self, taken: Floats, norms: Floats, n_jobs: int | None) -> Floats:  # noqa: ARG002
        remedy = "give fewer graphs"
        check_room(8 * len(taken) * len(self.vectors), "the kernel matrix", remedy)
        # einsum in place of @: BLAS may give other last bits for other numbers of rows
        out: Floats = np.einsum("ic,jc->ij", taken, self.vectors)
        return out

    def features(self, batch: GraphBatch, n_jobs: int | None) -> Floats:
        return self.taken(batch, False, n_jobs)

    def after_loading(self) -> None:
        check_shape("substructures", self.substructures, self.counter.n_columns, None)
        check_shape("vectors", self.vectors, None, self.substructures.shape[1])
        check_shape("norms", self.norms, len(self.vectors))


def _squares(rows: Floats) -> Floats:
    return np.asarray(np.einsum("ic,ic->i", rows, rows))


_MAX_COMPONENTS = 1 << 14
_MAX_SAMPLES = 1 << 26


class DeepGraph(PeerKernel):
    r"""
    Deep graph kernel between graphs (Yanardag and Vishwanathan, 2015).

    .. math:: K(G, H) = \phi(G)^\top M\,\phi(H), \qquad M = \mathrm{diag}(\|e_i\|)
              \quad\text{or}\quad M = E E^\top

    where :math:`\phi` counts substructures, and the rows :math:`e_i` of E are vectors of
    substructures, which are near each other if these occur together with the same others.

    Parameters
    ----------
    base : {"wl", "shortest-path", "graphlet"}, default="wl"
        Substructures: colours of all rounds of `WeisfeilerLehman`, which occur together if
        nodes of the same graph have them in the same round; the paths of `ShortestPath`,
        told apart by the labels of their ends and their length, which occur together if they are in
        the same graph; or the graphlets of `Graphlets`, of which two occur together if they
        differ in one node.
    similarity : {"lengths", "vectors"}, default="lengths"
        The matrix M. "lengths" compares equal substructures alone, weighted by the length of their
        vector: rare ones, and those that keep to the same company, count more. "vectors" compares
        all substructures by the inner products of their vectors.
    n_iter : int, default=3
        Rounds of refinement of "wl".
    start : {"labels", "degrees", "none"}, default="labels"
        Colours before the first round of "wl", and labels of the ends of paths.
    labels : str or sequence of str, optional
        Named columns of the labels to begin with (`GraphBatch.label_columns`), such as "element";
        None is all of them.
    k : {3, 4, 5}, default=4
        Nodes of a graphlet.
    n_samples : int, default=1000
        Pairs of graphlets that are drawn from every graph to learn E from.
    n_components : int, default=50
        Most coordinates of the vector of a substructure.
    n_negatives : float, default=1.0
        Negative samples of skip-gram; more of them leave out weak ties.
    min_graphs : int, default=2
        Colours and paths that fewer fitted graphs have get no vector.
    normalize : bool, default=True
        Whether to give :math:`K(G, H) / \sqrt{K(G, G)\,K(H, H)}`, which a support vector machine
        wants.
    n_jobs : int, optional
        Threads; None for all cores, but for one inside workers of joblib. It changes no result.
    random_state : int, Generator, RandomState or None
        Draws graphlets, and where the search for eigenvectors starts.

    Attributes
    ----------
    reading_ : Reading or None
        How the fitted graphs were read; new ones are read alike.
    engine_ : CountEngine or DeepEngine
        Weighted counts of the fitted graphs, or vectors of substructures and of these graphs.

    Notes
    -----
    The authors train E by skip-gram with negative sampling. Its optimum, for vectors that are long
    enough, has inner products :math:`\log \frac{n_{ij} n}{n_i n_j} - \log k`, the pointwise mutual
    information of two substructures, shifted by the number k of negative samples (Levy and
    Goldberg, 2014). Here E is found from that matrix, with negative entries set to zero, by the
    largest eigenvalues of it, weighted by how often substructures occur: the result is the same
    every time, and there is no rate of learning. Nor can the order of the graphs in a file have a
    part in it, which training by gradients takes in, and with it the classes of sorted files.

    The program of the authors has both similarities. Their accuracies are near those of the base
    kernels, as they are here with "lengths"; fifty coordinates for thousands of colours, and inner
    products of all of them, lose much of what tells graphs apart.

    Substructures without a vector, such as those of new graphs alone, add nothing, to the graph's
    own norm neither. The cost is that of the base kernel, of the table of colours or paths that
    occur in the same graph, which has up to the square of their number in each graph, and of its
    eigenvectors; kernel values of "vectors" take n^2 `n_components` steps. `vectors` gives
    the counts times :math:`\sqrt{\|e_i\|}` as a sparse matrix, or :math:`\phi(G)^\top E` as a
    dense one.

    Examples
    --------
    >>> from retgk.datasets import make_graph_classification
    >>> from retgk.kernels import DeepGraph
    >>> graphs = make_graph_classification(n_graphs=6, rng=0).graphs
    >>> kernel = DeepGraph(n_components=10, random_state=0)
    >>> kernel.fit_transform(graphs[:4]).shape
    (4, 4)
    >>> kernel.transform(graphs[4:]).shape
    (2, 4)
    """

    _parameter_constraints = (
        PEERS
        | START
        | ROUNDS
        | {
            "base": (OneOf(get_args(DeepBase)),),
            "similarity": (OneOf(get_args(Similarity)),),
            "k": (Whole(3, 5),),
            "n_samples": (Whole(1, _MAX_SAMPLES),),
            "n_components": (Whole(1, _MAX_COMPONENTS),),
            "n_negatives": (Number("()", 0),),
            "min_graphs": (Whole(1, _MAX_SAMPLES),),
        }
    )
    methods = (
        Compared("dgk", "deep graph kernel of Weisfeiler-Lehman subtrees", {"n_iter": (1, 2, 3)}),
    )

    def __init__(
        self,
        base: DeepBase = "wl",
        *,
        similarity: Similarity = "lengths",
        n_iter: int = 3,
        start: Start = "labels",
        labels: LabelColumns = None,
        k: int = 4,
        n_samples: int = 1000,
        n_components: int = 50,
        n_negatives: float = 1.0,
        min_graphs: int = 2,
        normalize: bool = True,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.base = base
        self.similarity = similarity
        self.n_iter = n_iter
        self.start = start
        self.labels = labels
        self.k = k
        self.n_samples = n_samples
        self.n_components = n_components
        self.n_negatives = n_negatives
        self.min_graphs = min_graphs
        self.normalize = normalize
        self.n_jobs = n_jobs
        self.random_state = random_state

    def new_engine(self) -> PeerEngine:
        counter, rules = self._new_counter(), self._rules()
        if self.similarity == "vectors":
            return DeepEngine(counter, self.normalize, rules)
        return CountEngine(LengthCounter(counter, rules), "products", self.normalize)

    def _new_counter(self) -> BaseCounter:
        n_iter, k = int(self.n_iter), int(self.k)
        if self.base == "graphlet":
            return GraphletCounter(k, False, None if k < 5 else samples_for(k), self.random_state)
        return ColourCounter(n_iter, self.start) if self.base == "wl" else PathCounter(self.start)

    def _rules(self) -> VectorRules:
        numbers = (int(self.n_components), float(self.n_negatives), int(self.min_graphs))
        return VectorRules(*numbers, int(self.n_samples), self.random_state)
