"""What is compared on what: graphs, targets and folds, the same for all methods."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk import __version__
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.graph_digests import graphs_digest
from retgk.learning.metrics import Metric, chosen_metrics, scorer_name
from retgk.learning.outer_folds import OuterFold
from retgk.runtime.record_files import Record, key_of
from retgk.runtime.seeds import short_seed

__all__ = ["ComparisonPlan", "Place", "new_plan"]

Place = tuple[int, int]
"""Numbers of a repetition and of a fold in it."""

_SHOWN = {False: ("accuracy", "balanced_accuracy", "roc_auc"), True: ("r2", "rmse", "mae")}


@dataclass(frozen=True)
class ComparisonPlan:
    """
    Everything that the answers of all methods depend on.

    Attributes
    ----------
    name : str
        Of the collection.
    graphs, targets
        What to learn from.
    folds : list of list of OuterFold
        Of every repetition.
    regression : bool
        Whether targets are values.
    metrics : tuple of Metric
        Which are shown; methods are ranked by the first.
    choose_by : str or None
        Name of the scorer by which models choose their parameters; None for their own.
    seed : int
        Of everything random.
    """

    name: str
    graphs: GraphBatch
    targets: NDArray[Any]
    folds: Sequence[Sequence[OuterFold]]
    regression: bool
    metrics: tuple[Metric, ...]
    choose_by: str | None
    seed: int

    @property
    def places(self) -> list[Place]:
        """All folds of all repetitions."""
        return [(r, f) for r, folds in enumerate(self.folds) for f in range(len(folds))]

    def fold(self, place: Place) -> OuterFold:
        """Training and test graphs."""
        repetition, number = place
        return self.folds[repetition][number]

    @cached_property
    def key(self) -> str:
        """
        Digest of all that answers depend on, but for the methods.

        Records of another key are of no use here: other graphs, targets, folds, or another way to
        choose.
        """
        folds = hashlib.sha256()
        for place in self.places:
            for part in (self.fold(place).train, self.fold(place).test, *self._inner(place)):
                folds.update(np.asarray(part, np.int64).tobytes() + b";")
        return key_of(
            {
                "graphs": graphs_digest(self.graphs),
                "targets": hashlib.sha256(repr(self.targets.tolist()).encode()).hexdigest(),
                "folds": folds.hexdigest(),
                "shape": [len(each) for each in self.folds],
                "regression": self.regression,
                "choose_by": self.choose_by,
                "seed": self.seed,
                "version": __version__,
            }
        )

    def _inner(self, place: Place) -> list[NDArray[Any]]:
        fold = self.fold(place)
        groups = [] if fold.groups is None else [np.unique(fold.groups, return_inverse=True)[1]]
        return [*groups, *(part for pair in fold.inner or () for part in pair)]

    def as_record(self) -> Record:
        """What a journal begins with, for people who read it."""
        return {
            "collection": self.name,
            "graphs": len(self.graphs),
            "task": "regression" if self.regression else "classification",
            "repetitions": len(self.folds),
            "folds": [len(each) for each in self.folds],
            "choose_by": self.choose_by,
            "seed": self.seed,
            "version": __version__,
        }

    def with_settings(self, estimator: Any) -> Any:
        """Give an estimator the seed and the scorer of all methods, where it takes them."""
        known = estimator.get_params(deep=True)
        own: dict[str, Any] = {
            name: short_seed(self.seed)
            for name in known
            if name.rpartition("__")[2] == "random_state"
        }
        own |= {"scoring": self.choose_by} if "scoring" in known else {}
        return estimator.set_params(
            **{name: value for name, value in own.items() if known[name] is None}
        )


def new_plan(
    name: str,
    graphs: GraphBatch,
    targets: NDArray[Any],
    folds: Sequence[Sequence[OuterFold]],
    regression: bool,
    metrics: Sequence[str] | None,
    seed: int,
) -> ComparisonPlan:
    """Plan with the metrics of these names, by the first of which models choose, or the usual."""
    shown = chosen_metrics(metrics or _SHOWN[regression], regression)
    if len(targets) and (targets == targets[0]).all():
        raise InvalidInputError(
            f"all {len(targets)} graphs have the same target, {targets[0]!s:.80}; there is nothing "
            "to tell apart: give targets that differ"
        )
    choose_by = scorer_name(shown[0], len(np.unique(targets))) if metrics else None
    return ComparisonPlan(name, graphs, targets, folds, regression, tuple(shown), choose_by, seed)
