"""The fitted state of every estimator, out of it and into it again."""

from typing import Any

import numpy as np

from retgk.array_types import Ints
from retgk.engine.embedded.embedded_engine import EmbeddedEngine
from retgk.engine.fitted_state import FittedState
from retgk.errors import InvalidInputError
from retgk.estimators.classifier import RetGKClassifier
from retgk.estimators.embedding import RetGKEmbedding
from retgk.estimators.engines_of_parameters import embedding_engine, kernel_engine
from retgk.estimators.fitted_embedding import set_fitted_embedding
from retgk.estimators.graph_intake import GraphIntake, restored_intake
from retgk.estimators.kernel import RetGKKernel, set_fitted_kernel
from retgk.estimators.predictor import GraphPredictor
from retgk.estimators.regressor import RetGKRegressor
from retgk.peer_kernels.peer_kernel import PeerKernel
from retgk.runtime.seeds import MAX_SEED
from retgk.walks.return_probabilities import Walks

__all__ = [
    "classifier_state",
    "embedding_state",
    "fitted_parameters",
    "kernel_state",
    "peer_state",
    "regressor_state",
    "restore_classifier",
    "restore_embedding",
    "restore_kernel",
    "restore_peer",
    "restore_regressor",
]

_MAX_CANDIDATES = 1 << 30

# Parameters that shape what is computed after `fit`, by the object that keeps them from then on.
_OF_WALKS = ("n_steps", "method", "n_walks", "self_loop", "nodes")
_OF_ENGINE = (
    "structure_kernel",
    "attribute_kernel",
    "scale_attributes",
    "depth",
    "level_weights",
    "tol",
    "feature_map",
    "n_components",
    "frequencies",
    "unknown_labels",
    "dtype",
)


def fitted_parameters(model: Any) -> dict[str, Any]:
    """Parameters of a model as it was fitted, whatever they were set to since."""
    parameters: dict[str, Any] = model.get_params(deep=False)
    if isinstance(model, RetGKKernel | RetGKEmbedding):
        for keeper, names in ((model.walks_, _OF_WALKS), (model.engine_, _OF_ENGINE)):
            parameters |= {name: getattr(keeper, name) for name in names if name in parameters}
    return parameters


def kernel_state(kernel: RetGKKernel) -> FittedState:
    """Everything that `transform` needs; inner products of the fitted graphs are found again."""
    state = _with_intake(kernel.engine_.state(), kernel.intake_)
    state.values |= {"graph_kernel": kernel.graph_kernel_, "walk_seed": kernel.walk_seed_}
    return state


def restore_kernel(kernel: RetGKKernel, stored: FittedState) -> None:
    """Make a kernel fitted with a state that is checked."""
    graph_kernel = stored.take_graph_kernel("graph_kernel")
    walks = _take_walks(kernel, stored)
    engine = kernel_engine(kernel).restore(stored, walks.n_steps)
    intake = restored_intake(stored, engine.n_attributes)
    set_fitted_kernel(kernel, engine, walks, graph_kernel, intake)


def embedding_state(embedding: RetGKEmbedding) -> FittedState:
    """Everything that `transform` needs."""
    state = _with_intake(embedding.engine_.state(), embedding.intake_)
    state.values["walk_seed"] = embedding.walk_seed_
    return state


def restore_embedding(embedding: RetGKEmbedding, stored: FittedState) -> None:
    """Make a transformer fitted with a state that is checked."""
    walks = _take_walks(embedding, stored)
    engine = embedding_engine(embedding).restore(stored, walks.n_steps)
    intake = restored_intake(stored, engine.n_attributes)
    set_fitted_embedding(embedding, engine, walks, intake)


def peer_state(kernel: PeerKernel) -> FittedState:
    """Everything that `transform` needs; the kernel matrix of the fitted graphs is not kept."""
    state = _with_intake(kernel.engine_.state(), kernel.intake_)
    state.values["n_attributes"] = kernel.n_attributes_
    return state


def restore_peer(kernel: PeerKernel, stored: FittedState) -> None:
    """Make a kernel of other authors fitted with a state that is checked."""
    n_attributes = stored.take_attribute_count()
    engine = kernel.stored_engine(stored).restore(stored)
    kernel.set_fitted(engine, restored_intake(stored, n_attributes), n_attributes)


def _with_intake(state: FittedState, intake: GraphIntake) -> FittedState:
    own = intake.state()
    return FittedState(state.values | own.values, state.arrays | own.arrays, state.parts)


def _take_walks(model: RetGKKernel | RetGKEmbedding, stored: FittedState) -> Walks:
    seed = stored.take_count("walk_seed", MAX_SEED)
    nodes = getattr(model, "nodes", None)
    return Walks(int(model.n_steps), model.method, model.n_walks, model.self_loop, seed, nodes)


def classifier_state(model: RetGKClassifier) -> FittedState:
    """Everything that predictions need, and how the parameters were chosen."""
    stored = _shared_state(model)
    stored.values["classes"] = model.classes_
    if model.multilabel_:
        stored.values["multilabel"] = True  # files of one class are as before there were labels
    stored.values["is_calibrated"] = model.calibration_coef_ is not None
    if model.calibration_coef_ is not None and model.calibration_intercept_ is not None:
        stored.arrays["calibration_coef"] = model.calibration_coef_
        stored.arrays["calibration_intercept"] = model.calibration_intercept_
    if model.support_codes_ is not None:
        stored.arrays["support_codes"] = model.support_codes_
    return stored


def regressor_state(model: RetGKRegressor) -> FittedState:
    """Everything that predictions need, and how the parameters were chosen."""
    stored = _shared_state(model)
    stored.values["target_ndim"] = model.target_ndim_
    return stored


def restore_classifier(model: RetGKClassifier, stored: FittedState) -> None:
    """Make a classifier fitted with a state that is checked."""
    model.classes_ = stored.take_value("classes", np.ndarray)
    n_classes = len(model.classes_)
    if n_classes < 2 or len(set(model.classes_.tolist())) < n_classes:
        raise InvalidInputError("'classes' are not two different ones or more")
    model.solver_ = stored.take_choice("solver", ("support vectors", "ridge"))
    model.multilabel_ = "multilabel" in stored.values and stored.take_value("multilabel", bool)
    n_pairs = n_classes * (n_classes - 1) // 2
    n_scores = 1 if n_classes == 2 and not model.multilabel_ else n_classes
    is_paired = model.solver_ == "support vectors" and not model.multilabel_
    _restore_shared(model, stored, n_pairs if is_paired else n_scores)
    model.support_codes_ = _take_support_codes(model, stored)
    model.calibration_coef_ = model.calibration_intercept_ = None
    if stored.take_value("is_calibrated", bool):
        shape = (n_scores, 1 if model.multilabel_ else n_scores)
        model.calibration_coef_ = stored.take_array("calibration_coef", np.float64, shape)
        model.calibration_intercept_ = stored.take_array(
            "calibration_intercept", np.float64, (n_scores,)
        )


def _take_support_codes(model: RetGKClassifier, stored: FittedState) -> Ints | None:
    """Classes of the support graphs, or their labels; older files know nothing of them."""
    if "support_codes" not in stored.arrays:
        return None
    n_support, n_classes = len(model.support_), len(model.classes_)
    shape = (n_support, n_classes) if model.multilabel_ else (n_support,)
    codes = stored.take_array("support_codes", np.int64, shape)
    n_codes = 2 if model.multilabel_ else n_classes
    if len(codes) and not 0 <= codes.min() <= codes.max() < n_codes:
        raise InvalidInputError(f"'support_codes' has numbers that are not below {n_codes}")
    return codes


def restore_regressor(model: RetGKRegressor, stored: FittedState) -> None:
    """Make a regressor fitted with a state that is checked."""
    model.solver_ = stored.take_choice("solver", ("ridge",))
    model.target_ndim_ = stored.take_count("target_ndim", 2)
    _restore_shared(model, stored, 1 if model.target_ndim_ == 1 else None)


def _shared_state(model: GraphPredictor) -> FittedState:
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
    if isinstance(model.engine_, EmbeddedEngine):
        arrays |= model.engine_.vector_arrays()
        return FittedState(values, arrays, {"embedding": model.embedding_})
    return FittedState(values, arrays, {"kernel": model.kernel_})


def _restore_shared(model: GraphPredictor, stored: FittedState, n_outputs: int | None) -> None:
    model.best_params_ = stored.take_value("best_params", dict)
    model.best_score_ = stored.take_value("best_score", float)
    model.best_index_ = stored.take_count("best_index", _MAX_CANDIDATES)
    model.cv_results_ = stored.take_value("cv_results", dict)
    model.n_splits_ = stored.take_count("n_splits", _MAX_CANDIDATES)
    if "input_kind" in stored.values:  # in files of 0.1.0; the reading says more
        stored.take_value("input_kind", str, type(None))
    model.graph_kernel_ = stored.take_graph_kernel("graph_kernel")
    model.support_ = stored.take_array("support", np.int64, (None,))
    if (model.support_ < 0).any():
        raise InvalidInputError("'support' has numbers of graphs below 0")
    n_support = len(model.support_)
    model.dual_coef_ = stored.take_array("dual_coef", np.float64, (n_outputs, n_support))
    model.intercept_ = stored.take_array("intercept", np.float64, (len(model.dual_coef_),))
    model.approximate_ = stored.take_value("approximate", bool)
    if model.approximate_:
        embedding = stored.take_part("embedding", RetGKEmbedding)
        model.walks_, model.intake_ = embedding.walks_, embedding.intake_
        model.engine_ = embedding.engine_.restore_vectors(stored)
        name = "support_ptr"
    else:
        kernel = stored.take_part("kernel", RetGKKernel)
        model.walks_, model.intake_ = kernel.walks_, kernel.intake_
        model.engine_, name = kernel.engine_, "kernel"
        if kernel.graph_kernel_ != model.graph_kernel_:
            raise InvalidInputError("'graph_kernel' is not that of 'kernel'")
    if model.engine_.n_graphs != n_support:
        raise InvalidInputError(
            f"{name!r} has {model.engine_.n_graphs} graphs, but 'support' names {n_support}"
        )
