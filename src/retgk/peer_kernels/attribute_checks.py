"""Checks of attributes that kernels of other authors compute with."""

from retgk.engine.node_features import check_attribute_sizes
from retgk.graphs.batch import GraphBatch
from retgk.graphs.missing_values import check_numbers

__all__ = ["check_attributes"]


def check_attributes(batch: GraphBatch) -> None:
    """Raise where attributes are missing, or too large to compute with."""
    check_numbers(batch.attributes, batch.node_ptr)
    check_attribute_sizes(batch)
