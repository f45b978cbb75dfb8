"""Labels of graphs as blocks of columns, and what the columns are called."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Codes
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.labels import recode
from retgk.graphs.ragged import graph_of

__all__ = ["feature_names", "known_codes", "names_in_use", "wave_names"]


def names_in_use(batch: GraphBatch) -> tuple[Hashable, ...] | None:
    """Labels that nodes have, in the order of the vocabulary; None if there are no labels."""
    if not batch.has_labels:
        return None
    counts = np.bincount(batch.labels, minlength=len(batch.label_names))
    return tuple(batch.label_names[code] for code in np.flatnonzero(counts))


def known_codes(
    batch: GraphBatch,
    names: tuple[Hashable, ...] | None,
    unknown: str,
    first_graph: int = 0,
) -> Codes | None:
    """
    Label codes in a fixed vocabulary; None if there are no labels.

    Labels that it lacks become -1 ("ignore"), an error ("error", which names the graph, counted
    from `first_graph`), or the code after the last ("column").
    """
    if names is None:
        return None
    codes = recode(batch.labels, batch.label_names, names)
    missing = codes < 0
    if unknown == "ignore" or not missing.any():
        return codes
    if unknown == "error":
        node = int(np.argmax(missing))
        graph = graph_of(batch.node_ptr, node)
        raise InvalidInputError(
            f"graph {first_graph + graph}: node {node - batch.node_ptr[graph]} has the label "
            f"{batch.label_names[batch.labels[node]]!r}, which fit did not see; set "
            "unknown_labels to 'ignore' or 'column', or add it by partial_fit"
        )
    return np.where(missing, np.int32(len(names)), codes)


def feature_names(
    names: tuple[Hashable, ...] | None, unknown: str, widths: Sequence[int]
) -> NDArray[Any]:
    """
    Names of the columns of an embedding, of D or of D0 and Dc features a label.

    Examples
    --------
    >>> feature_names(("C", "N"), "ignore", [1, 2]).tolist()
    ['label=C:omega0:nu0', 'label=C:omega0:nu1', 'label=N:omega0:nu0', 'label=N:omega0:nu1']
    """
    features = [f"omega{i}" for i in range(widths[0])]
    if len(widths) == 2:
        features = [f"{omega}:nu{j}" for omega in features for j in range(widths[1])]
    if names is None:
        return np.array(features, dtype=object)
    labels = [f"label={name}:" for name in names] + ["label?:"] * (unknown == "column")
    return np.array([label + feature for label in labels for feature in features], dtype=object)


def wave_names(n_frequencies: int) -> NDArray[Any]:
    """Names of the columns in which labels turn phases: all cosines, then all sines."""
    names = [f"omega{i}:{wave}" for wave in ("cos", "sin") for i in range(n_frequencies)]
    return np.array(names, dtype=object)
