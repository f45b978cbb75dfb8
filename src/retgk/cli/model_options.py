"""Options of kernels, embeddings and models, each written once."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, get_args

import typer

from retgk.cli.completion import metric_names
from retgk.cli.options import in_panel

__all__ = [
    "DEFAULT_COMPONENTS",
    "SCALING_REMEDY",
    "TASK_REMEDIES",
    "Components",
    "Depth",
    "EmbeddingOptions",
    "KernelOptions",
    "Learning",
    "Metrics",
    "ScaleAttributes",
    "Task",
    "Tolerance",
    "Walks",
]

Method = Literal["exact", "eigh", "monte-carlo", "monte-carlo-returns"]
Scaling = Literal["raw", "standard", "drop"]

_walks = in_panel("Return probabilities")
_kernel = in_panel("Kernel")
_embedding = in_panel("Embedding")
_learning = in_panel("Learning")


def _self_loop(text: str) -> float | str:
    """Read "mean" or a number."""
    if text == "mean":
        return "mean"
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < math.inf:
        raise typer.BadParameter(f"{text!r} is neither 'mean' nor a number of at least 0")
    return value


def _node_count(text: str) -> float:
    """Read a number of nodes, or a share of them."""
    try:
        value = float(text) if "." in text else int(text)
    except ValueError:
        value = 0
    if value <= 0 or (isinstance(value, float) and value > 1):
        raise typer.BadParameter(f"{text!r} is neither a number of nodes nor a share in (0, 1]")
    return value


def _scaling(text: str) -> str:
    """Read one of the words; typer has no lists of literals."""
    words = get_args(Scaling)
    if text not in words:
        raise typer.BadParameter(f"{text!r} is not one of {', '.join(map(repr, words))}")
    return text


def _below_one(value: float) -> float:
    """Refuse a tolerance that the kernel would refuse later."""
    if not value < 1:
        raise typer.BadParameter(f"{value} is not below 1")
    return value


Tolerance = Annotated[
    float,
    _kernel(
        "--tol",
        min=0,
        callback=_below_one,
        help="Largest error of an inner product, below 1; 0 for plain float64.",
    ),
]
Components = Annotated[
    int,
    _embedding(
        "--n-components",
        "-D",
        min=1,
        help="Random features; joint and tensor have them for each label.",
    ),
]
DEFAULT_COMPONENTS = 1024
_VECTOR_COMPONENTS = 512
TASK_REMEDIES = {
    "folds": "give fewer --folds",
    "class_or_folds_or_size": "give fewer --folds, or more graphs of it",
    "class_or_folds_or_size_or_values": "give fewer --folds, or more graphs of it, or --task "
    "regression if these are values",
    "class_or_size_or_values": "give more graphs of it, or --task regression if these are values",
    "task": "give --task regression if they are values, or --task classification if they are "
    "classes",
    "metric": "or give --task {value}",
    "probabilities": "leave it out, or use --protocol nested and at least two graphs of every "
    "class in every training part",
}
SCALING_REMEDY = {"scale_attributes": "use --scale-attributes standard to give all the same weight"}
ScaleAttributes = Annotated[
    Scaling,
    _kernel(
        "--scale-attributes",
        help="Node attributes as they are, each divided by its deviation, or left out.",
    ),
]
Depth = Annotated[
    int,
    _kernel("--depth", min=0, help="Rounds in which labels take in those of their neighbours."),
]


@dataclass(frozen=True)
class Walks:
    """How return probabilities are found."""

    remedies: ClassVar[Mapping[str, str]] = {
        "monte_carlo": "--method monte-carlo estimates them in a fraction of that, and with "
        "--nodes `retgk embed` walks from some nodes only",
        "nodes": "use `retgk embed` with --nodes",
    }

    n_steps: Annotated[int, _walks("--n-steps", min=1, help="Number of steps.")] = 50
    method: Annotated[Method, _walks("--method", help="Exact, or by random walks.")] = "exact"
    n_walks: Annotated[int, _walks("--n-walks", min=3, help="Walks per node, for Monte Carlo.")] = (
        200
    )
    self_loop: Annotated[
        Any,
        _walks(
            "--self-loop",
            parser=_self_loop,
            metavar="mean|NUMBER",
            help="Weight of the self-loop that nodes get; the mean weight of their graph, or this.",
        ),
    ] = "mean"
    n_jobs: Annotated[
        int | None, _walks("--n-jobs", "-j", help="Threads; all cores by default.")
    ] = None
    seed: Annotated[int, _walks("--seed", min=0, help="Seed of everything random.")] = 0

    def parameters(self) -> dict[str, Any]:
        """Parameters of the estimators and of `return_probabilities`."""
        return {
            "n_steps": self.n_steps,
            "method": self.method,
            "n_walks": self.n_walks,
            "self_loop": self.self_loop,
            "n_jobs": self.n_jobs,
            "random_state": self.seed,
        }


@dataclass(frozen=True)
class KernelOptions:
    """Which matrix is computed."""

    remedies: ClassVar[Mapping[str, str]] = {
        "gram_file": "use --matrix products --on-disk",
        "graph_gamma": "give more graphs, or use --matrix products or distances",
        **SCALING_REMEDY,
    }

    matrix: Annotated[
        Literal["kernel", "products", "distances"],
        _kernel("--matrix", help="exp(-gamma MMD^p), inner products, or MMD."),
    ] = "kernel"
    p: Annotated[float, _kernel("--p", help="Exponent, in (0, 2].")] = 1.0
    scale: Annotated[float, _kernel("--scale", help="Bandwidth, in median distances.")] = 1.0
    gamma: Annotated[
        float | None,
        _kernel("--gamma", help="Of exp(-gamma |p - q|), of return probabilities; by the median."),
    ] = None
    scale_attributes: ScaleAttributes = "raw"
    depth: Depth = 0
    tol: Tolerance = 1e-4
    approximate: Annotated[
        bool, _kernel("--approximate", help="Random features instead of the exact kernel.")
    ] = False
    on_disk: Annotated[
        bool,
        _kernel(
            "--on-disk",
            help="For matrices larger than memory: inner products go block by block to a .npy "
            "file, and the same command goes on after a stop.",
        ),
    ] = False


@dataclass(frozen=True)
class EmbeddingOptions:
    """How graphs become vectors."""

    n_components: Components = _VECTOR_COMPONENTS
    feature_map: Annotated[
        Literal["phases", "joint", "tensor"],
        _embedding(
            "--feature-map",
            help="One width for any labels, or a block a label; tensor is the paper's.",
        ),
    ] = "phases"
    frequencies: Annotated[
        Literal["plain", "orthogonal", "quasi-random"],
        _embedding("--frequencies", help="How frequencies are drawn."),
    ] = "orthogonal"
    nodes: Annotated[
        Any,
        _embedding(
            "--nodes",
            parser=_node_count,
            metavar="COUNT|SHARE",
            help="Nodes that are drawn to stand for a graph: a number, or a share such as 0.1; all "
            "by default. The error that it costs is told.",
        ),
    ] = None

    def parameters(self) -> dict[str, Any]:
        """Parameters of `RetGKEmbedding`."""
        return dict(vars(self))


Metrics = Annotated[
    list[str] | None,
    _learning(
        "--metric",
        metavar="NAME",
        help="What is shown, by scikit-learn's name of the scorer; repeatable. By the first, "
        "the model chooses. For classes accuracy, balanced_accuracy, roc_auc (or auc), "
        "average_precision (ap), f1, matthews_corrcoef (mcc), log_loss; for values r2, rmse, "
        "mae, spearman.",
        autocompletion=metric_names,
    ),
]
Task = Annotated[
    Literal["auto", "classification", "regression"],
    _learning("--task", help="By the targets: numbers with fractions are regressed on."),
]


@dataclass(frozen=True)
class Learning:
    """How a model is chosen."""

    remedies: ClassVar[Mapping[str, str]] = {
        "approximate": "use --approximate yes",
        "fewer_candidates": "give fewer candidates, such as --C 10 --p 1 --scale 1",
        "n_components": "give a smaller --n-components",
        "n_landmarks": "give a smaller --n-landmarks",
        **TASK_REMEDIES,
        **SCALING_REMEDY,
    }

    metric: Metrics = None
    task: Task = "auto"
    approximate: Annotated[
        Literal["auto", "yes", "no"],
        _learning("--approximate", help="Random features and a linear model; by size."),
    ] = "auto"
    C: Annotated[list[float] | None, _learning("--C", help="Candidate for C; repeatable.")] = None
    p: Annotated[
        list[float] | None, _learning("--p", help="Candidate for the exponent; repeatable.")
    ] = None
    scale: Annotated[
        list[float] | None,
        _learning("--scale", help="Candidate bandwidth in median distances; repeatable."),
    ] = None
    scale_attributes: Annotated[
        list[Any] | None,
        _learning(
            "--scale-attributes",
            parser=_scaling,
            metavar="raw|standard|drop",
            help="Candidate for node attributes: as they are, each divided by its deviation, or "
            "left out; repeatable.",
        ),
    ] = None
    depth: Annotated[
        list[int] | None,
        _learning(
            "--depth",
            min=0,
            help="Candidate for the rounds in which labels take in their neighbours; repeatable.",
        ),
    ] = None
    tol: Tolerance = 1e-4
    n_landmarks: Annotated[
        int | None,
        _learning(
            "--n-landmarks",
            min=1,
            help="Training graphs that stand for all where these are many; by size.",
        ),
    ] = None
    balanced: Annotated[
        bool, _learning("--balanced", help="Weight classes by the inverse of their size.")
    ] = False
    impute_attributes: Annotated[
        Literal["mean", "median"] | None,
        _learning("--impute-attributes", help="Of the training nodes, for missing attributes."),
    ] = None
