"""The fitted state of RetGKClassifier and RetGKRegressor, out of them and into them again."""

from typing import Any

import numpy as np
from scipy.sparse import bsr_array

from retgk.errors import InvalidInputError
from retgk.estimators.classifier import RetGKClassifier
from retgk.estimators.embedding import RetGKEmbedding
from retgk.estimators.kernel import RetGKKernel
from retgk.estimators.predictor import GraphPredictor
from retgk.estimators.regressor import RetGKRegressor
from retgk.persistence.stored_state import Stored

__all__ = [
    "classifier_state",
    "regressor_state",
    "set_classifier_state",
    "set_regressor_state",
]

_MAX_CANDIDATES = 1 << 30


def classifier_state(model: RetGKClassifier) -> Stored:
    """
    Everything that predictions need, and how the parameters were chosen.

    Parameters
    ----------
    model : RetGKClassifier
        A fitted classifier.

    Returns
    -------
    Stored
        Its state.
    """
    stored = _shared_state(model)
    stored.values["classes"] = model.classes_
    stored.values["is_calibrated"] = model.calibration_coef_ is not None
    if model.calibration_coef_ is not None and model.calibration_intercept_ is not None:
        stored.arrays["calibration_coef"] = model.calibration_coef_
        stored.arrays["calibration_intercept"] = model.calibration_intercept_
    return stored


def regressor_state(model: RetGKRegressor) -> Stored:
    """
    Everything that predictions need, and how the parameters were chosen.

    Parameters
    ----------
    model : RetGKRegressor
        A fitted regressor.

    Returns
    -------
    Stored
        Its state.
    """
    stored = _shared_state(model)
    stored.values["target_ndim"] = model.target_ndim_
    return stored


def set_classifier_state(model: RetGKClassifier, stored: Stored) -> None:
    """
    Make a classifier fitted.

    Parameters
    ----------
    model : RetGKClassifier
        A classifier with its parameters.
    stored : Stored
        What `classifier_state` gave, which is checked.
    """
    model.classes_ = stored.take_value("classes", np.ndarray)
    n_classes = len(model.classes_)
    if n_classes < 2 or len(set(model.classes_.tolist())) < n_classes:
        raise InvalidInputError("'classes' are not two different ones or more")
    model.solver_ = stored.take_choice("solver", ("support vectors", "ridge"))
    n_pairs = n_classes * (n_classes - 1) // 2
    n_scores = 1 if n_classes == 2 else n_classes
    _set_shared_state(model, stored, n_pairs if model.solver_ == "support vectors" else n_scores)
    model.calibration_coef_ = model.calibration_intercept_ = None
    if stored.take_value("is_calibrated", bool):
        shape = (n_scores, n_scores)
        model.calibration_coef_ = stored.take_array("calibration_coef", np.float64, shape)
        model.calibration_intercept_ = stored.take_array(
            "calibration_intercept", np.float64, (n_scores,)
        )


def set_regressor_state(model: RetGKRegressor, stored: Stored) -> None:
    """
    Make a regressor fitted.

    Parameters
    ----------
    model : RetGKRegressor
        A regressor with its parameters.
    stored : Stored
        What `regressor_state` gave, which is checked.
    """
    model.solver_ = stored.take_choice("solver", ("ridge",))
    model.target_ndim_ = stored.take_count("target_ndim", 2)
    _set_shared_state(model, stored, 1 if model.target_ndim_ == 1 else None)


def _shared_state(model: GraphPredictor) -> Stored:
    values = {
        "approximate": model.approximate_,
        "best_params": model.best_params_,
        "best_score": model.best_score_,
        "best_index": model.best_index_,
        "cv_results": model.cv_results_,
        "n_splits": model.n_splits_,
        "solver": model.solver_,
        "graph_kernel": model.graph_kernel_,
    }
    arrays = {
        "support": model.support_,
        "dual_coef": model.dual_coef_,
        "intercept": model.intercept_,
    }
    if not model.approximate_:
        return Stored(values, arrays, {"kernel": model.kernel_})
    vectors = model.support_vectors_
    arrays["support_blocks"] = vectors.data[:, 0]
    arrays["support_labels"] = vectors.indices.astype(np.int64)
    arrays["support_ptr"] = vectors.indptr.astype(np.int64)
    return Stored(values, arrays, {"embedding": model.embedding_})


def _set_shared_state(model: GraphPredictor, stored: Stored, n_outputs: int | None) -> None:
    model.best_params_ = stored.take_value("best_params", dict)
    model.best_score_ = stored.take_value("best_score", float)
    model.best_index_ = stored.take_count("best_index", _MAX_CANDIDATES)
    model.cv_results_ = stored.take_value("cv_results", dict)
    model.n_splits_ = stored.take_count("n_splits", _MAX_CANDIDATES)
    model.graph_kernel_ = stored.take_graph_kernel("graph_kernel")
    model.support_ = stored.take_array("support", np.int64, (None,))
    if (model.support_ < 0).any():
        raise InvalidInputError("'support' has numbers of graphs below 0")
    n_support = len(model.support_)
    model.dual_coef_ = stored.take_array("dual_coef", np.float64, (n_outputs, n_support))
    model.intercept_ = stored.take_array("intercept", np.float64, (len(model.dual_coef_),))
    model.approximate_ = stored.take_value("approximate", bool)
    if model.approximate_:
        model.embedding_ = stored.take_part("embedding", RetGKEmbedding)
        model.support_vectors_ = _support_vectors(model.embedding_, stored, n_support)
    else:
        model.kernel_ = stored.take_part("kernel", RetGKKernel)
        _check_kernel(model)


def _check_kernel(model: GraphPredictor) -> None:
    n_graphs, n_support = model.kernel_._fitted.n_graphs, len(model.support_)
    if n_graphs != n_support:
        raise InvalidInputError(f"'kernel' has {n_graphs} graphs, but 'support' names {n_support}")
    if model.kernel_.graph_kernel_ != model.graph_kernel_:
        raise InvalidInputError("'graph_kernel' is not that of 'kernel'")


def _support_vectors(embedding: RetGKEmbedding, stored: Stored, n_support: int) -> Any:
    """Embedded support graphs: a block of features for each label that a graph has."""
    width = embedding._block_width()
    n_labels = embedding.n_features_out_ // width
    blocks = stored.take_array("support_blocks", embedding.dtype, (None, width))
    labels = stored.take_array("support_labels", np.int64, (len(blocks),))
    ptr = stored.take_array("support_ptr", np.int64, (n_support + 1,))
    if ptr[0] != 0 or ptr[-1] != len(blocks) or (np.diff(ptr) < 0).any():
        raise InvalidInputError("'support_ptr' does not rise from 0 to the number of blocks")
    if len(labels) and not 0 <= labels.min() <= labels.max() < n_labels:
        raise InvalidInputError(f"'support_labels' has labels that are not among {n_labels}")
    graphs = np.repeat(np.arange(n_support), np.diff(ptr))
    if (np.diff(graphs * n_labels + labels) <= 0).any():
        raise InvalidInputError("'support_labels' does not rise within each graph")
    shape = (n_support, embedding.n_features_out_)
    return bsr_array((blocks[:, None, :], labels, ptr), shape=shape, blocksize=(1, width))
