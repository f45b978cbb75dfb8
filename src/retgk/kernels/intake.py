"""How a fitted model takes in new graphs: read and completed as the training graphs were."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from retgk._runtime.fields import check_shape, stored
from retgk._runtime.names import check_keywords
from retgk._runtime.parameters import check_model_parameters
from retgk.array_types import Floats
from retgk.errors import InputWarning, InvalidInputError, Remedy, warn_user
from retgk.graphs.batch import GraphBatch, flat_arrays, trusted_batch
from retgk.graphs.reading import Reading
from retgk.io.convert import CONVERT_FIRST, GraphsLike, batch_like

# Missing attributes filled in with means or medians of the training graphs.

Imputation = Literal["mean", "median"]
"""What takes the place of a missing attribute, over the nodes of the training graphs."""


@stored
@dataclass(frozen=True, eq=False)
class AttributeImputation:
    """What takes the place of missing attributes."""

    values: Floats  # (n_attributes,): one for each attribute

    def apply(self, batch: GraphBatch) -> GraphBatch:
        """Fill in what is missing; graphs that lack nothing are given back as they are."""
        attributes = batch.attributes
        if batch.n_attributes != len(self.values) or not np.isnan(attributes).any():
            return batch  # other numbers of attributes are reported by the engine
        filled = np.where(np.isnan(attributes), self.values, attributes)
        return trusted_batch(flat_arrays(batch)._replace(attributes=filled))


def fit_imputation(batch: GraphBatch, how: Any) -> AttributeImputation | None:
    """Find what takes the place of missing attributes; None where nothing is to."""
    if how is None:
        return None
    absent = np.isnan(batch.attributes).all(axis=0)
    if absent.any():
        raise InvalidInputError(
            f"attribute {int(np.argmax(absent))} is missing on all nodes, so there is nothing to "
            "impute it from; leave it out"
        )
    middle = np.nanmean if how == "mean" else np.nanmedian
    return AttributeImputation(middle(batch.attributes, axis=0).reshape(batch.n_attributes))


@stored
@dataclass(frozen=True, eq=False)
class GraphIntake:
    """What a model remembers of how its graphs came in."""

    reading: Reading | None = None  # how they were read; None where they were made by hand
    is_weighted: bool | None = None  # whether they had weights; None where that is not known
    imputation: AttributeImputation | None = None  # what takes the place of missing attributes

    def completed(self, batch: GraphBatch) -> GraphBatch:
        """Give the graphs with missing attributes filled in."""
        return batch if self.imputation is None else self.imputation.apply(batch)

    def new_batch(self, graphs: GraphsLike) -> GraphBatch:
        """
        Convert new graphs with the options by which the fitted ones were read.

        A batch that was read with others is an error; weights where the fitted graphs had none,
        or none where they had some, are a warning.
        """
        self._check_not_table(graphs)
        batch = batch_like(graphs, self.reading)
        self._warn_of_weights(batch)
        return self.completed(batch)

    def _check_not_table(self, graphs: GraphsLike) -> None:
        """Raise for a table of numbers where the fitted graphs were none: it may be features."""
        if self.reading is None or self.reading.kind == "arrays":
            return
        if isinstance(graphs, np.ndarray) and graphs.ndim == 2 and graphs.dtype.kind in "biuf":
            raise InvalidInputError(
                f"got one array of numbers of shape {graphs.shape}, the fitted ones were "
                f"{self.reading.in_words}; give graphs like those, or a list [matrix] if it is the "
                "adjacency matrix of one graph"
            )

    def _warn_of_weights(self, batch: GraphBatch) -> None:
        if self.is_weighted in (None, batch.is_weighted) or not len(batch.indices):
            return
        own, its = self.reading, batch.reading
        is_alike = own is not None and its is not None and own.kind == its.kind
        if self.is_weighted and own is not None and is_alike and own.tells_weights:
            return  # as single bonds alone, where bonds weigh their order
        words = ("weights", "none") if batch.is_weighted else ("no weights", "some")
        warn_user(
            InputWarning(
                "edges of the graphs have {}, those of the fitted graphs had {}".format(*words),
                Remedy("weights", "convert all graphs in the same way, with or without weights"),
            )
        )

    def check(self, n_attributes: int) -> None:
        """Raise unless this fits graphs of so many attributes; a file may say anything."""
        if self.reading is not None and _n_columns(self.reading) > n_attributes:
            raise InvalidInputError(
                f"the reading names more attributes than the {n_attributes} there are"
            )
        if self.imputation is not None:
            check_shape("imputation", self.imputation.values, n_attributes)

    def _storable(self) -> "GraphIntake":
        """Leave out a reading with names that are objects of the user's, and say so."""
        if self.reading is None:
            return self
        try:
            self.reading._restored()
        except InvalidInputError as error:
            note = f"a model file cannot hold how the graphs were read: {error}"
            remedy = Remedy("reading_of_file", "convert new graphs in the same way by hand")
            warn_user(InputWarning(note, remedy))
            return replace(self, reading=None)
        return self


def fit_intake(model: Any, batch: GraphBatch) -> tuple[GraphIntake, GraphBatch]:
    """Remember how training graphs came in, and give them with all attributes."""
    imputation = fit_imputation(batch, model.impute_attributes)
    intake = GraphIntake(batch.reading, batch.is_weighted, imputation)
    return intake, intake.completed(batch)


def _n_columns(reading: Reading) -> int:
    """Columns of attributes that a reading asks for, at least: a name may have several."""
    categories = reading.options.get("categorical", {}).values()
    return len(reading.options.get("attributes", [])) + sum(map(len, categories))


class TakesGraphs:
    """An estimator that reads new graphs as it read those that it was fitted on."""

    intake_: GraphIntake

    @property
    def reading_(self) -> Reading | None:
        """How the fitted graphs were read; None where that is not known."""
        return self.intake_.reading


def check_fit(model: Any, given: dict[str, Any]) -> None:
    """Check parameters; raise for keywords of `fit` that are such, or options of converters."""
    check_model_parameters(model)
    if not given:
        return
    name = type(model).__name__
    own = dict.fromkeys(
        model.get_params(deep=False), f"it is a parameter of the model: {name}({{option}})"
    )
    check_keywords(given, (), f"{name}.fit", CONVERT_FIRST | own)
