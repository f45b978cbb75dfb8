"""Kernels of what RDKit computes of molecules: circular fragments, and descriptors."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

import numpy as np

from retgk._runtime.fields import check_shape, stored
from retgk._runtime.names import optional_module
from retgk._runtime.parallel import n_threads, run_tasks
from retgk._runtime.parameters import NONE, PEERS, Constraints, Number, Whole
from retgk._runtime.processes import ordered_results
from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.flat import offsets
from retgk.kernels.engine import GraphIntake, column_spreads
from retgk.kernels.kernel import GraphKernel
from retgk.kernels.others.base import PeerKernel
from retgk.kernels.others.counts import CountEngine, GraphCounts

# Molecules


def molecule_texts(batch: GraphBatch, what: str) -> list[str]:
    """SMILES of the graphs, or an error that names who wants them."""
    if batch.smiles is None:
        raise InvalidInputError(
            f"{what} takes molecules, and these graphs are not known as such; read them from "
            "SMILES strings, RDKit molecules or files of these"
        )
    return list(batch.smiles)


def _molecules(smiles: Sequence[str], first: int = 0) -> Iterator[Any]:
    chem = optional_module("rdkit.Chem", "rdkit")
    with optional_module("rdkit.rdBase", "rdkit").BlockLogs():
        for number, text in enumerate(smiles, first):
            molecule = chem.MolFromSmiles(text)
            if molecule is None:  # one of RDKit's own that was never sanitized
                raise InvalidInputError(
                    f"graph {number}: RDKit cannot read the SMILES {text!r:.200} that it wrote of "
                    "this molecule; call rdkit.Chem.SanitizeMol on the molecule first"
                )
            yield molecule


# Circular fragments


def folded_fragments(smiles: Sequence[str], radius: int, n_columns: int) -> Any:
    """Counts of Morgan's fragments by the remainder of their hash: a sparse matrix of float32."""
    from scipy.sparse import csr_matrix  # LightGBM takes no csr_array

    counts = _fragments(smiles, radius, n_columns)
    parts = counts.columns.astype(np.int32), counts.ptr.astype(np.int32)  # as forests want them
    return csr_matrix((counts.counts.astype(np.float32), *parts), shape=(len(smiles), n_columns))


def _fragments(smiles: Sequence[str], radius: int, n_columns: int | None = None) -> GraphCounts:
    """How often molecules have fragments; columns are hashes, not folded without a number."""
    generators = optional_module("rdkit.Chem.rdFingerprintGenerator", "rdkit")
    generator = generators.GetMorganGenerator(radius=radius, fpSize=n_columns or 2048)
    is_folded = n_columns is not None
    count = generator.GetCountFingerprint if is_folded else generator.GetSparseCountFingerprint
    found = [count(molecule).GetNonzeroElements() for molecule in _molecules(smiles)]
    columns = [np.fromiter(own, np.int64, len(own)) for own in found]
    counts = [np.fromiter(own.values(), np.float64, len(own)) for own in found]
    nothing = np.empty(0, np.int64)
    return GraphCounts(
        offsets(np.array([len(own) for own in found], np.int64)),
        np.concatenate([nothing, *columns]),
        np.concatenate([nothing.astype(np.float64), *counts]),
        1 << 32 if n_columns is None else n_columns,
    )


@stored
@dataclass
class FragmentCounter:
    """Counts circular fragments of molecules, by their whole hash."""

    radius: int  # bonds from the atom in the middle
    hashes: Ints = field(init=False)  # those that fitted molecules have, rising

    def fit(self, batch: GraphBatch, n_jobs: int | None) -> GraphCounts:  # noqa: ARG002
        found = _fragments(molecule_texts(batch, "Morgan"), self.radius)
        self.hashes = np.unique(found.columns)
        return self._numbered(found)

    def counts(self, batch: GraphBatch, n_jobs: int | None) -> GraphCounts:  # noqa: ARG002
        return self._numbered(_fragments(molecule_texts(batch, "Morgan"), self.radius))

    def _numbered(self, found: GraphCounts) -> GraphCounts:
        """Number hashes by their place among the fitted ones; others get numbers beyond these."""
        places = np.searchsorted(self.hashes, found.columns)
        known = self.hashes[np.minimum(places, len(self.hashes) - 1)] == found.columns
        columns = np.where(known, places, self.n_columns + np.arange(len(places)))
        return GraphCounts(found.ptr, columns.astype(np.int32), found.counts, self.n_columns)

    @property
    def n_columns(self) -> int:
        return len(self.hashes)

    def after_loading(self) -> None:
        check_shape("hashes", self.hashes, None)
        if len(self.hashes) == 0 or (np.diff(self.hashes) <= 0).any():
            raise InvalidInputError("hashes of fragments do not rise")


class Morgan(PeerKernel):
    r"""
    Circular fragments that two molecules share (Rogers and Hahn, 2010; Ralaivola et al., 2005).

    With :math:`n_f(G)` the number of atoms around which a molecule has fragment f, over all
    fragments of up to `radius` bonds from an atom, it is :math:`\sum_f \min(n_f(G), n_f(H))`.

    Parameters
    ----------
    radius : int, default=2
        Bonds from the atom in the middle; 2 is what chemists call ECFP4, in counts.
    normalize : bool, default=True
        Whether to give :math:`K(G, H) / \sqrt{K(G, G)\,K(H, H)}`.
    n_jobs : int, optional
        Threads of the kernel matrix; None for all cores. It changes no result.

    Attributes
    ----------
    reading_ : Reading or None
        How the fitted graphs were read; new ones are read alike.
    engine_ : CountEngine
        Fragments of the fitted molecules, and how often they have them.

    Notes
    -----
    Graphs are molecules: of SMILES, RDKit or files of these. Fragments are RDKit's, told apart by
    their hash of 32 bits, which is not folded. ``MinMax(Morgan())`` is the min-max
    kernel of the counts, Tanimoto's for counts.

    Examples
    --------
    >>> from retgk.kernels import Morgan
    >>> Morgan(normalize=False).fit_transform(["CCO", "CCN"])
    array([[6., 3.],
           [3., 6.]])
    """

    _parameter_constraints = PEERS | {"radius": (Whole(0, 8),)}

    def __init__(
        self, radius: int = 2, *, normalize: bool = True, n_jobs: int | None = None
    ) -> None:
        self.radius = radius
        self.normalize = normalize
        self.n_jobs = n_jobs

    def new_engine(self) -> CountEngine:
        """Make an engine that is not fitted."""
        return CountEngine(FragmentCounter(int(self.radius)), "minima", self.normalize)


# Descriptors

_LARGEST = 1e100
"""Descriptors beyond it, as information contents of large molecules are, are cut to it."""
_CLIP = 5.0  # standard deviations; a molecule that is odd in one descriptor is no more than odd
_PIECE = 1000  # molecules described at a time, in five seconds
_ROWS = 256


class Descriptors(GraphKernel):
    r"""
    Laplacian kernel of RDKit's descriptors of molecules: sizes, charges, surfaces, rings, logP.

    .. math:: K(G, H) = \exp(-\gamma \sum_j |x_j(G) - x_j(H)|)

    Descriptors are standardised on the fitted molecules and cut at five deviations. Those that
    RDKit cannot compute of a molecule have the mean of the fitted ones.

    Parameters
    ----------
    gamma : float, optional
        Scale; None for one over the number of descriptors that vary.
    n_jobs : int, optional
        Threads, and processes for thousands of molecules; None for all cores. It changes no result.

    Attributes
    ----------
    reading_ : Reading or None
        How the fitted graphs were read; new ones are read alike.
    names_ : tuple of str
        Names of the descriptors.
    fitted_ : ndarray of float64, shape (n_fitted, n_descriptors)
        Standardised descriptors of the fitted molecules.

    Notes
    -----
    Graphs are molecules: of SMILES, RDKit or files of these. Descriptors take RDKit about five
    milliseconds a molecule. They say what fragments do not, so that a sum with a kernel of
    fragments or colours is often better than either. A model file is for the version of RDKit that
    computed them, as far as definitions changed since.

    Examples
    --------
    >>> from retgk.kernels import Descriptors
    >>> kernel = Descriptors().fit(["CCO", "CCN", "c1ccccc1"])
    >>> kernel.transform(["CCO"]).round(2)[0, 0]
    np.float64(1.0)
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "gamma": (NONE, Number("()", 0)),
        "n_jobs": PEERS["n_jobs"],
    }
    fitted_fields: ClassVar[tuple[str, ...]] = (
        *GraphKernel.fitted_fields,
        "names_",
        "center_",
        "factor_",
        "gamma_",
    )
    fitted_: Floats
    names_: tuple[str, ...]
    center_: Floats
    """Means over the fitted molecules."""
    factor_: Floats
    """One over their standard deviations; zero where they do not vary."""
    gamma_: float

    def __init__(self, gamma: float | None = None, *, n_jobs: int | None = None) -> None:
        self.gamma = gamma
        self.n_jobs = n_jobs

    def fit_batch(self, batch: GraphBatch) -> None:
        self.names_ = tuple(_functions())
        found = self._values(batch)
        missing = np.isnan(found)
        n_known = np.maximum((~missing).sum(axis=0), 1)
        self.center_ = np.where(missing, 0.0, found).sum(axis=0) / n_known
        spreads = column_spreads(np.where(missing, self.center_, found))
        self.factor_ = np.divide(1.0, spreads, out=np.zeros(len(spreads)), where=spreads > 0)
        n_used = max(int((self.factor_ > 0).sum()), 1)
        self.gamma_ = 1 / n_used if self.gamma is None else float(self.gamma)
        self.fitted_ = self._standardised(found)
        self.intake_ = GraphIntake(batch.reading, batch.is_weighted)
        self.n_graphs_ = len(batch)

    def describe(self, graphs: GraphBatch) -> Floats:
        return self._standardised(self._values(graphs))

    def _values(self, batch: GraphBatch) -> Floats:
        """Descriptors of molecules; NaN where RDKit cannot tell one."""
        smiles = molecule_texts(batch, "Descriptors")
        pieces = (
            (smiles[first : first + _PIECE], first, self.names_)
            for first in range(0, len(smiles), _PIECE)
        )
        found = list(ordered_results(_descriptors, pieces, n_threads(self.n_jobs)))
        return np.concatenate([np.empty((0, len(self.names_))), *found])

    def _standardised(self, values: Floats) -> Floats:
        scaled = (np.where(np.isnan(values), self.center_, values) - self.center_) * self.factor_
        return np.asarray(np.clip(scaled, -_CLIP, _CLIP))

    def products(self, x: Floats, y: Floats) -> Floats:
        from scipy.spatial.distance import cdist

        values = np.empty((len(x), len(y)))

        def fill(first: int) -> None:
            rows = slice(first, first + _ROWS)
            np.exp(-self.gamma_ * cdist(x[rows], y, "cityblock"), out=values[rows])

        tasks = [(first,) for first in range(0, len(x), _ROWS)]
        run_tasks(fill, tasks, [1.0] * len(tasks), self.n_jobs, "kernel values")
        return values

    def norms(self, batch: GraphBatch | None = None) -> Floats:
        return np.ones(self.n_graphs_ if batch is None else len(batch))

    def after_loading(self) -> None:
        super().after_loading()
        check_shape("fitted_", self.fitted_, self.n_graphs_, len(self.names_))
        for name in ("center_", "factor_"):
            check_shape(name, getattr(self, name), len(self.names_))
        if self.gamma_ <= 0:
            raise InvalidInputError("gamma_ is not positive")


@cache
def _functions() -> dict[str, Callable[[Any], float]]:
    return dict(optional_module("rdkit.Chem.Descriptors", "rdkit").descList)


def _descriptors(smiles: Sequence[str], first: int, names: tuple[str, ...]) -> Floats:
    """Descriptors of some molecules, which errors number from `first` on."""
    unknown = sorted(set(names) - _functions().keys())
    if unknown:
        raise InvalidInputError(
            f"this version of RDKit has no descriptor {unknown[0]!r:.80}, which the fitted "
            "molecules have; install the version that the model was fitted with, or fit it again"
        )
    functions = [_functions()[name] for name in names]
    rows = [[_value(one, molecule) for one in functions] for molecule in _molecules(smiles, first)]
    values = np.array(rows, np.float64).reshape(len(rows), len(names))
    values[~np.isfinite(values)] = np.nan
    return np.asarray(np.clip(values, -_LARGEST, _LARGEST))


def _value(function: Callable[[Any], float], molecule: Any) -> float:
    try:
        return float(function(molecule))
    except (ArithmeticError, RuntimeError, ValueError):  # of an element without parameters
        return np.nan
