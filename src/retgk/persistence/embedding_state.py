"""The fitted state of RetGKEmbedding, out of it and into it again."""

import numpy as np

from retgk.engine.embedded.bandwidths import FourierKernel
from retgk.engine.embedded.embedding_parameters import checked_widths
from retgk.engine.embedded.frequencies import FourierMap, check_fourier_kernel
from retgk.estimators.embedding import RetGKEmbedding
from retgk.persistence.stored_state import Stored

__all__ = ["embedding_state", "set_embedding_state"]

_MAX_ATTRIBUTES = 1 << 16


def embedding_state(embedding: RetGKEmbedding) -> Stored:
    """
    Everything that `transform` needs.

    Parameters
    ----------
    embedding : RetGKEmbedding
        A fitted transformer.

    Returns
    -------
    Stored
        Its state.
    """
    arrays = {}
    for m, fourier in enumerate(embedding.maps_):
        arrays[f"frequencies_{m}"] = fourier.frequencies
        arrays[f"phases_{m}"] = fourier.phases
    values = {
        "structure_kernel": embedding.structure_kernel_,
        "attribute_kernel": embedding.attribute_kernel_,
        "label_names": embedding.label_names_,
        "n_attributes": embedding.n_attributes_,
        "walk_seed": embedding.walk_seed_,
    }
    return Stored(values, arrays)


def set_embedding_state(embedding: RetGKEmbedding, stored: Stored) -> None:
    """
    Make a transformer fitted.

    Parameters
    ----------
    embedding : RetGKEmbedding
        A transformer with its parameters.
    stored : Stored
        What `embedding_state` gave, which is checked.
    """
    widths = checked_widths(vars(embedding))
    embedding.structure_kernel_ = _fourier_kernel(stored, "structure_kernel")
    embedding.n_attributes_ = stored.take_count("n_attributes", _MAX_ATTRIBUTES)
    if embedding.n_attributes_:
        embedding.attribute_kernel_ = _fourier_kernel(stored, "attribute_kernel")
    else:
        embedding.attribute_kernel_ = stored.take_value("attribute_kernel", type(None))
    has_labels = stored.values.get("label_names") is not None
    embedding.label_names_ = (
        stored.take_names("label_names")
        if has_labels
        else stored.take_value("label_names", type(None))
    )
    embedding.walk_seed_ = stored.take_count("walk_seed", 2**63 - 1)
    n_inputs = [int(embedding.n_steps), embedding.n_attributes_]
    n_inputs = [sum(n_inputs)] if embedding.feature_map == "joint" else [n for n in n_inputs if n]
    embedding.maps_ = tuple(
        FourierMap(
            stored.take_array(f"frequencies_{m}", np.float64, (n, width)),
            stored.take_array(f"phases_{m}", np.float64, (width,)),
        )
        for m, (n, width) in enumerate(zip(n_inputs, widths, strict=False))
    )


def _fourier_kernel(stored: Stored, name: str) -> FourierKernel:
    kernel = stored.take_node_kernel(name)
    check_fourier_kernel(kernel, name)
    return kernel  # type: ignore[return-value]
