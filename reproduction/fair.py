"""The fixed folds of the fair comparison, from files that the user names."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.graphs import PaperSet
from reproduction.peers import PeerFailure
from reproduction.protocols import Option, SplitFold, chosen_outcome
from reproduction.timed_matrices import Matrix, median_gamma
from retgk._runtime.files import key_of
from retgk._runtime.processes import recorded_peak_megabytes
from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError
from retgk.estimators.classifier import GraphClassifier
from retgk.estimators.embedding import RetGKEmbedding
from retgk.estimators.kernel import new_engine
from retgk.kernels.engine import AttributeScaling, NodeFeatures
from retgk.kernels.exact import ExactEngine
from retgk.kernels.graph import ExponentialGraphKernel, KernelOfMeans, PolynomialGraphKernel
from retgk.kernels.node import Laplacian
from retgk.learning.paper_protocol import FoldResult, Outcome, PaperFold
from retgk.walks.probabilities import Walks


def folds_digest(folds: Any) -> str:
    """Digest of what a file of folds says, however it is written."""
    return key_of({"folds": folds})


def read_fair_folds(folder: Path | None, name: str, digest: str, n_graphs: int) -> list[PaperFold]:
    if folder is None:
        raise InvalidInputError(
            f"the fair protocol has fixed folds; give the folder that has {name}"
        )
    path = folder / name
    if not path.exists():
        raise InvalidInputError(f"there is no file {path}; name the folder that has it")
    try:
        folds = json.loads(path.read_text("utf-8"))
    except (RecursionError, ValueError) as error:
        raise InvalidInputError(f"{path} is no JSON: {error}; take another copy of it") from error
    if folds_digest(folds) != digest:
        raise InvalidInputError(
            f"{path} has other folds than those that the published accuracies are for; take the "
            "file of Errica et al. (2020), https://github.com/diningphil/gnn-comparison"
        )
    found = []
    for own in folds:
        (inner,) = own["model_selection"]
        parts = (inner["train"], inner["validation"], own["test"])
        found.append(PaperFold(*(np.asarray(part, np.int64) for part in parts)))
    n_named = sum(len(fold.test) for fold in found)
    if n_named != n_graphs:
        raise InvalidInputError(
            f"{path} has folds of {n_named} graphs, but there are {n_graphs}; take the edition of "
            "the set that the folds are for"
        )
    return found


# What the fair protocol computes for each kind of method: inner products to choose from, or a
# model.
#
# Kernels of all graphs are computed once, and folds take slices; what depends on training graphs
# (a median of nodes, means and deviations of attributes) is found on those of each fold.

Settings = Mapping[str, Any]


@dataclass
class FairWork:
    """
    Graphs, settings and what was made of them so far, for one record.

    `peer_matrix` gives the matrix of a peer for settings without lists. Seconds are those of return
    probabilities and of everything up to inner products.
    """

    data: PaperSet
    settings: Settings
    rules: Settings
    seed: int
    n_jobs: int | None
    peer_matrix: Callable[[Settings], Matrix]
    seconds: dict[str, float] = field(default_factory=lambda: {"rpf": 0.0, "gram": 0.0})
    facts: dict[str, Any] = field(default_factory=dict)
    products: dict[Any, list[Floats]] = field(default_factory=dict, repr=False)
    """Inner products for each depth, by what else they depend on."""

    @cached_property
    def features(self) -> NodeFeatures:
        features = NodeFeatures(self.data.graphs, Walks(self.settings["n_steps"]), self.n_jobs)
        with self.timed("rpf"):
            assert features.probabilities is not None
        return features

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[part] += time.perf_counter() - start

    def scaled(self, rule: str, known: Ints) -> tuple[bytes, NodeFeatures]:
        """Features by a rule for attributes that is fitted on some graphs; with a key of it."""
        batch = self.data.graphs
        attributes = batch[known].attributes if batch.n_attributes else batch.attributes
        scaling = AttributeScaling.fitted(rule, attributes, {})  # type: ignore[arg-type]
        parts = [part.tobytes() for part in (scaling.center, scaling.scale) if part is not None]
        return b"".join([rule.encode(), *parts]), scaling(self.features)

    def matrix(self) -> Matrix:
        facts = {**self.facts, "peak_mb": recorded_peak_megabytes()}
        return Matrix(np.empty((0, 0)), self.seconds, facts)


def fair_outcome(work: FairWork, folds: Sequence[PaperFold]) -> Outcome:
    """Accuracies on the fixed folds."""
    if work.settings["kind"] == "classifier":
        return _classifier_outcome(work, folds)
    options_of = FAIR_KINDS[work.settings["kind"]]
    return chosen_outcome(
        lambda known: options_of(work, known),
        work.data.targets,
        _graph_kernels(work.settings),
        [SplitFold.of(fold) for fold in folds],
        work.rules["c"],
        work.n_jobs,
    )


def _graph_kernels(settings: Settings) -> list[KernelOfMeans]:
    if "p" not in settings:
        return [PolynomialGraphKernel()]
    both = product(settings["p"], settings["median_scale"])
    return [ExponentialGraphKernel(p=p, scale=scale) for p, scale in both]


# Exact kernels, level by level


def _level_options(work: FairWork, known: Ints) -> list[Option]:
    """Depths and rules for attributes, with the bandwidth of the known graphs."""
    gamma = rounded_gamma(median_gamma(work.features, known), work.rules["gamma_ratio"])
    work.facts.setdefault("structure_gammas", []).append(gamma)
    return _options_of_depths(
        work, known, gamma, lambda features: _level_products(work, features, gamma)
    )


def rounded_gamma(gamma: float, ratio: float) -> float:
    """Nearest power of a ratio, so that folds can share matrices without sharing data."""
    return float(ratio ** round(np.log(gamma) / np.log(ratio)))


def _level_products(work: FairWork, features: NodeFeatures, gamma: float) -> list[Floats]:
    """Inner products for each depth: means of those of the levels up to it."""
    settings, batch = work.settings, features.batch
    engine = ExactEngine(
        Laplacian(gamma),
        Laplacian(settings["attribute_gamma"]) if batch.n_attributes else None,
        depth=max(settings["depth"]),
        tol=settings["tol"],
        n_jobs=work.n_jobs,
        random_state=0,
    )
    levels = list(engine.fit(features).level_products())
    for level in range(1, len(levels)):  # running means, in the place of the levels
        levels[level] += level * levels[level - 1]
        levels[level] /= level + 1
    return [levels[depth] for depth in settings["depth"]]


def _options_of_depths(
    work: FairWork,
    known: Ints,
    gamma: float | None,
    products_of: Callable[[NodeFeatures], list[Floats]],
) -> list[Option]:
    """Depths and rules for attributes to choose from; what there is no choice of is not said."""
    options = []
    rules = work.settings["scale_attributes"]
    for rule in rules:
        key, features = work.scaled(rule, known)
        if (gamma, key) not in work.products:
            with work.timed("gram"):
                work.products[gamma, key] = products_of(features)
        said = {"scale_attributes": rule} if len(rules) > 1 else {}
        pairs = zip(work.settings["depth"], work.products[gamma, key], strict=True)
        options += [Option({"depth": depth, **said}, own) for depth, own in pairs]
    return options


# Vectors of a fixed width


def _phase_options(work: FairWork, known: Ints) -> list[Option]:
    """Bandwidths and phases depend on no graph."""
    return _options_of_depths(work, known, None, lambda features: _phase_products(work, features))


def _phase_products(work: FairWork, features: NodeFeatures) -> list[Floats]:
    settings = work.settings
    found = []
    for depth in settings["depth"]:
        embedding = RetGKEmbedding(
            settings["n_components"],
            walks=Walks(settings["n_steps"]),
            feature_map="phases",
            depth=depth,
            n_jobs=work.n_jobs,
            random_state=work.seed,
        )
        found.append(new_engine(embedding).fit(features).inner_products())
    return found


# Kernels of other authors


def _peer_options(work: FairWork, _known: Ints) -> list[Option]:
    """Numbers of iterations, up to the first that the limits stop."""
    if not work.products:
        own = {key: value for key, value in work.settings.items() if key != "folds"}
        for n_iter in own["n_iter"]:
            try:
                matrix = work.peer_matrix({**own, "n_iter": n_iter})
            except PeerFailure as failure:
                if not work.products:
                    raise
                work.facts["stopped"] = f"n_iter={n_iter}: {failure}"
                break
            work.products[n_iter] = [matrix.products]
            work.seconds["gram"] += matrix.seconds["gram"]
    return [Option({"n_iter": n_iter}, own) for n_iter, (own,) in work.products.items()]


# The classifier


def _classifier_outcome(work: FairWork, folds: Sequence[PaperFold]) -> Outcome:
    seconds = {"fit": 0.0, "predict": 0.0}
    return Outcome([_classifier_result(work, fold, seconds) for fold in folds], seconds)


def _classifier_result(work: FairWork, fold: PaperFold, seconds: dict[str, float]) -> FoldResult:
    graphs, targets, known = (
        work.data.graphs,
        work.data.targets,
        np.concatenate([fold.train, fold.validation]),
    )
    start = time.perf_counter()
    model = GraphClassifier(n_jobs=work.n_jobs, random_state=work.seed)
    model.fit(graphs[known], targets[known])
    middle = time.perf_counter()
    accuracy = float(np.mean(model.predict(graphs[fold.test]) == targets[fold.test]))
    seconds["fit"] += middle - start
    seconds["predict"] += time.perf_counter() - middle
    work.facts["approximate"] = bool(model.approximate_)
    choice = {name: _plain(value) for name, value in model.best_params_.items() if name != "C"}
    return FoldResult(accuracy, float(model.best_params_["C"]), len(fold.test), choice=choice)


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, int | float | str) else repr(value)


FAIR_KINDS = {"levels": _level_options, "phases": _phase_options, "native": _peer_options}
"""Options for training graphs, by `kind` in ``settings/fair.toml``, but for the classifier."""
