"""The hash graph kernel: attributes hashed to labels again and again."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from retgk._runtime.fields import check_shape, stored
from retgk._runtime.names import RandomState, seed_from
from retgk._runtime.parallel import progress_bar
from retgk._runtime.parameters import FLAG, PEERS, ROUNDS, START, Number, OneOf, Whole
from retgk.array_types import Codes, Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch, check_alike
from retgk.graphs.flat import offsets
from retgk.kernels.engine import column_spreads
from retgk.kernels.others.base import (
    Compared,
    LabelColumns,
    PeerKernel,
    check_attributes,
    check_first,
)
from retgk.kernels.others.counts import CountEngine, GraphCounts
from retgk.kernels.others.shortest_path import PathCounter
from retgk.kernels.others.weisfeiler_lehman import ColourCounter
from retgk.kernels.refinement import FirstColours, Start

# Labels that are hashes of attributes, and what a base kernel counts with each of them.

HashBase = Literal["wl", "sp"]
"""Base kernel of hashed labels."""

_MOST_BINS = 1 << 31  # a hash and a label share 64 bits
MAX_HASHES = 1 << 12


@stored
@dataclass
class HashCounter:
    """Counts of a base kernel with each of some hash functions, side by side."""

    n_hashes: int
    base: HashBase
    n_iter: int
    bin_width: float
    standardize: bool
    start: Start
    random_state: RandomState = None
    unsaved_fields: ClassVar[tuple[str, ...]] = ("random_state",)
    first: FirstColours = field(init=False)
    means: Floats = field(init=False)
    deviations: Floats = field(init=False)
    directions: Floats = field(init=False)
    """Directions onto which attributes are projected, shape (n_hashes, n_attributes)."""
    shifts: Floats = field(init=False)  # what is added to every projection, shape (n_hashes,)
    counters: list[ColourCounter | PathCounter] = field(init=False)  # one for each hash function

    def fit(self, batch: GraphBatch, n_jobs: int | None) -> GraphCounts:
        if not batch.n_attributes:
            raise InvalidInputError(
                "nodes have no attributes to hash; read some with attributes=, or use "
                "WeisfeilerLehman or ShortestPath"
            )
        check_attributes(batch)
        self.first = FirstColours(self.start)
        codes = self.first.fit(batch)
        self._draw(batch.attributes)
        self.counters = [self._new_counter() for _ in range(self.n_hashes)]
        return self._joined(batch, codes, True, n_jobs)

    def counts(self, batch: GraphBatch, n_jobs: int | None) -> GraphCounts:
        check_alike(batch, batch.has_labels, len(self.means))
        check_attributes(batch)
        codes = self.first.colours(batch, warns=True)
        return self._joined(batch, codes, False, n_jobs)

    def _draw(self, attributes: Floats) -> None:
        rng = np.random.default_rng(int(seed_from(self.random_state)))
        n_attributes = attributes.shape[1]
        self.means, self.deviations = np.zeros(n_attributes), np.ones(n_attributes)
        if self.standardize:
            self.means, deviations = attributes.mean(axis=0), column_spreads(attributes)
            self.deviations = np.where(deviations > 0, deviations, 1.0)
        self.directions = rng.normal(size=(self.n_hashes, n_attributes))
        self.shifts = rng.uniform(0.0, self.bin_width, self.n_hashes)

    def _new_counter(self) -> ColourCounter | PathCounter:
        if self.base == "wl":
            return ColourCounter(self.n_iter, "labels", warns=False)
        return PathCounter("labels", warns=False)

    def _joined(
        self, batch: GraphBatch, codes: Codes, is_fit: bool, n_jobs: int | None
    ) -> GraphCounts:
        with np.errstate(over="ignore"):  # no bin has such a number, which is an error below
            points = (batch.attributes - self.means) / self.deviations
        plain, parts = batch.without_attributes(), []
        with progress_bar("hashed graphs", self.n_hashes) as advance:
            for place, counter in enumerate(self.counters):
                hashed = plain.with_labels(self._hashes(points, place, codes))
                count = counter.fit if is_fit else counter.counts
                parts.append(count(hashed, n_jobs))
                advance(1)
        ends = offsets([part.n_columns for part in parts])
        columns = [
            np.where(part.columns < part.n_columns, part.columns + start, ends[-1])
            for part, start in zip(parts, ends[:-1], strict=True)
        ]
        graphs = np.concatenate([np.repeat(np.arange(len(p)), np.diff(p.ptr)) for p in parts])
        order = np.argsort(graphs, kind="stable")
        ptr = offsets(np.bincount(graphs, minlength=len(batch)))
        own = np.concatenate(columns)[order].astype(np.int32)
        counts = np.concatenate([part.counts for part in parts])[order]
        return GraphCounts(ptr, own, counts, int(ends[-1]))

    def _hashes(self, points: Floats, place: int, codes: Codes) -> Ints:
        # einsum in place of @: BLAS may give other last bits for other numbers of rows
        with np.errstate(over="ignore", invalid="ignore"):
            projected = np.einsum("nd,d->n", points, self.directions[place])
            bins = np.floor((projected + self.shifts[place]) / self.bin_width)
        if not np.abs(bins).max(initial=0.0) < _MOST_BINS:
            is_raw = (self.deviations == 1).all() and not self.means.any()
            other = ", or standardize=True" if is_raw else ""
            raise InvalidInputError(
                f"bin_width={self.bin_width} is too small for these attributes: they would fall "
                f"into more than {_MOST_BINS} bins; use a larger one{other}"
            )
        return np.asarray(bins.astype(np.int64) * _MOST_BINS + codes)

    @property
    def n_columns(self) -> int:
        return sum(counter.n_columns for counter in self.counters)

    def after_loading(self) -> None:
        check_first(self)
        n_attributes = len(self.means)
        check_shape("means", self.means, None)
        check_shape("deviations", self.deviations, n_attributes)
        check_shape("directions", self.directions, self.n_hashes, n_attributes)
        check_shape("shifts", self.shifts, self.n_hashes)
        if len(self.counters) != self.n_hashes or not self.n_hashes:
            raise InvalidInputError("there is not a counter for each hash function")
        if not 0 < self.bin_width < np.inf or (self.deviations <= 0).any():
            raise InvalidInputError("bin_width or deviations are not positive")


class HashEngine(CountEngine):
    """Mean of the base kernels over all hash functions."""

    counter: HashCounter

    @property
    def divisor(self) -> int:  # type: ignore[override]
        """Number of base kernels, whose sums are exact."""
        return self.counter.n_hashes

    def features(self, batch: GraphBatch, n_jobs: int | None) -> Any:
        return super().features(batch, n_jobs) / np.sqrt(self.counter.n_hashes)


class HashGraph(PeerKernel):
    r"""
    Hash graph kernel between graphs with attributes (Morris et al., 2016).

    .. math:: K(G, H) = \frac{1}{I} \sum_{i=1}^{I} K_b(h_i(G), h_i(H)),
              \qquad h_i(x) = \lfloor (\langle a_i, x \rangle + b_i) / w \rfloor

    where :math:`h_i(G)` has the hash of its attributes as the label of every node, together with
    the label that the node has. The :math:`a_i` are normal, the :math:`b_i` uniform in [0, w): near
    attributes have the same hash more often than distant ones (2-stable hashing). The base is
    `WeisfeilerLehman` or `ShortestPath`, not normalized.

    Parameters
    ----------
    n_hashes : int, default=20
        Number I of hash functions, as in the paper.
    base : {"wl", "sp"}, default="wl"
        Base kernel: subtrees of Weisfeiler and Lehman, or shortest paths.
    n_iter : int, default=3
        Rounds of refinement of "wl"; the paper chooses it by cross-validation.
    bin_width : float, default=1.0
        Width w of the bins.
    standardize : bool, default=True
        Whether to bring every attribute to mean zero and deviation one first, by the fitted graphs,
        as the authors do.
    start : {"labels", "degrees", "none"}, default="labels"
        Which labels nodes have beside the hash: their own, if there are any, numbers of neighbours,
        or none.
    labels : str or sequence of str, optional
        Named columns of the labels to begin with (`GraphBatch.label_columns`), such as "element";
        None is all of them.
    normalize : bool, default=True
        Whether to give :math:`K(G, H) / \sqrt{K(G, G)\,K(H, H)}`, which a support vector machine
        wants.
    n_jobs : int, optional
        Threads; None for all cores, but for one inside workers of joblib. It changes no result.
    random_state : int, Generator, RandomState or None
        Draws the hash functions, which new graphs are hashed by too.

    Attributes
    ----------
    reading_ : Reading or None
        How the fitted graphs were read; new ones are read alike.
    engine_ : HashEngine
        Hash functions, and what the base kernels count in the fitted graphs.

    Notes
    -----
    The cost is that of `n_hashes` base kernels. `vectors` gives the counts of all of them, divided
    by :math:`\sqrt{I}`, as a sparse matrix.

    Examples
    --------
    >>> from retgk.datasets import make_graph_classification
    >>> from retgk.kernels import HashGraph
    >>> graphs = make_graph_classification(n_graphs=6, n_attributes=2, rng=0).graphs
    >>> kernel = HashGraph(n_hashes=5, random_state=0)
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
            "n_hashes": (Whole(1, MAX_HASHES),),
            "base": (OneOf(get_args(HashBase)),),
            "bin_width": (Number("()", 0),),
            "standardize": (FLAG,),
        }
    )
    methods = (Compared("hgk", "hash graph kernel, for attributes", {"base": ("wl", "sp")}),)

    def __init__(
        self,
        n_hashes: int = 20,
        *,
        base: HashBase = "wl",
        n_iter: int = 3,
        bin_width: float = 1.0,
        standardize: bool = True,
        start: Start = "labels",
        labels: LabelColumns = None,
        normalize: bool = True,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_hashes = n_hashes
        self.base = base
        self.n_iter = n_iter
        self.bin_width = bin_width
        self.standardize = standardize
        self.start = start
        self.labels = labels
        self.normalize = normalize
        self.n_jobs = n_jobs
        self.random_state = random_state

    def new_engine(self) -> HashEngine:
        counter = HashCounter(
            int(self.n_hashes),
            self.base,
            int(self.n_iter),
            float(self.bin_width),
            bool(self.standardize),
            self.start,
            self.random_state,
        )
        return HashEngine(counter, "products", self.normalize)
