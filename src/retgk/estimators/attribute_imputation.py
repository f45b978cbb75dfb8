"""Missing attributes filled in with means or medians of the training graphs."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from retgk.array_types import Floats
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch, flat_arrays, trusted_batch

__all__ = ["AttributeImputation", "Imputation", "fit_imputation"]

Imputation = Literal["mean", "median"]
"""What takes the place of a missing attribute, over the nodes of the training graphs."""


@dataclass(frozen=True, eq=False)
class AttributeImputation:
    """
    What takes the place of missing attributes.

    Attributes
    ----------
    values : ndarray of float64, shape (n_attributes,)
        One for each attribute.
    """

    values: Floats

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
    if how not in get_args(Imputation):
        raise InvalidInputError(f"impute_attributes must be 'mean', 'median' or None, got {how!r}")
    absent = np.isnan(batch.attributes).all(axis=0)
    if absent.any():
        raise InvalidInputError(
            f"attribute {int(np.argmax(absent))} is missing on all nodes, so there is nothing to "
            "impute it from; leave it out"
        )
    middle = np.nanmean if how == "mean" else np.nanmedian
    return AttributeImputation(middle(batch.attributes, axis=0).reshape(batch.n_attributes))
