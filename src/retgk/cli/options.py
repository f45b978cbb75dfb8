"""Arguments and options that several commands share, each written once."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

import typer

from retgk.cli.completion import data_set_names, metric_names, model_files, source_names
from retgk.io.formats.graph_files import Format

__all__ = [
    "DATA_HOME_REMEDY",
    "DEFAULT_COMPONENTS",
    "MIN_FOLDS",
    "Common",
    "Components",
    "DataHome",
    "DataSetNames",
    "Debugging",
    "EmbeddingOptions",
    "FileRole",
    "KernelOptions",
    "Learning",
    "ModelFile",
    "OptionalOutput",
    "Output",
    "Reading",
    "Source",
    "Tolerance",
    "Walks",
]

Method = Literal["exact", "eigh", "monte-carlo", "monte-carlo-returns"]


class FileRole(Enum):
    """What a command does with the file that an option names; both at once is refused."""

    READ = "read"
    WRITTEN = "written"


SOURCE_HELP = (
    "Graphs: the name of a TUDataset collection, `digits` (bundled), a file or folder "
    "(TU text or .zip, .parquet, .graphml, .edges, .smi, .csv of SMILES), or - for standard input."
)


def _in_panel(panel: str) -> Callable[..., Any]:
    """Make options that the help shows in a panel of this name."""

    def option(*names: str, **settings: Any) -> Any:
        return typer.Option(*names, rich_help_panel=panel, **settings)

    return option


_reading = _in_panel("Reading")
_walks = _in_panel("Return probabilities")
_kernel = _in_panel("Kernel")
_embedding = _in_panel("Embedding")
_learning = _in_panel("Learning")
_common = _in_panel("Output")


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


def _below_one(value: float) -> float:
    """Refuse a tolerance that the kernel would refuse later."""
    if not value < 1:
        raise typer.BadParameter(f"{value} is not below 1")
    return value


Source = Annotated[
    str,
    FileRole.READ,
    typer.Argument(metavar="GRAPHS", help=SOURCE_HELP, autocompletion=source_names),
]
ModelFile = Annotated[
    Path,
    FileRole.READ,
    typer.Argument(
        metavar="MODEL", help="File that `retgk fit` wrote.", autocompletion=model_files
    ),
]
DataSetNames = Annotated[
    list[str],
    typer.Argument(metavar="NAME...", help="Names of collections.", autocompletion=data_set_names),
]
DataHome = Annotated[
    Path | None,
    _reading("--data-home", envvar="RETGK_DATA_HOME", help="Folder of the TUDataset collections."),
]
DATA_HOME_REMEDY = {"data_home": "place one there, or give --data-home or set RETGK_DATA_HOME"}
TABLE_HELP = (
    "File to write, by its ending: .parquet, .csv, .npz, .npy or .json; - for standard output. "
    "A file that is there is replaced when all is done."
)
Output = Annotated[
    str, FileRole.WRITTEN, typer.Option("--output", "-o", metavar="FILE", help=TABLE_HELP)
]
OptionalOutput = Annotated[
    str | None, FileRole.WRITTEN, typer.Option("--output", "-o", metavar="FILE", help=TABLE_HELP)
]
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
    int, _embedding("--n-components", "-D", min=1, help="Random features, for each label.")
]
DEFAULT_COMPONENTS = 200
MIN_FOLDS = 3
Debug = Annotated[bool, _common("--debug", help="Show a traceback when it fails.")]


@dataclass(frozen=True)
class Debugging:
    """Options of commands that print in their own way."""

    debug: Debug = False


@dataclass(frozen=True)
class Common:
    """Options of every other command."""

    json: Annotated[bool, _common("--json", help="Print the result as JSON, for machines.")] = False
    quiet: Annotated[
        bool, _common("--quiet", "-q", help="No progress bars and notes on standard error.")
    ] = False
    debug: Debug = False


@dataclass(frozen=True)
class Reading:
    """How graphs are read; `remedies` say by which option an error can be avoided."""

    remedies: ClassVar[Mapping[str, str]] = {
        "node_values": "--label-name, --attribute-name read them",
        "label": "give all the same with --label-name or --no-labels",
        "attributes": "give all the same with --attribute-name, --atom-attribute or "
        "--no-attributes",
        "format": f"say what it is with --format, one of {', '.join(get_args(Format))}",
        "smiles_column": "{value} with --smiles-column",
        "target_column": "{value} with --target-column",
        "skip_invalid": "--skip-invalid leaves such out",
        "smiles_or_format": "--skip-invalid leaves such out; if it is not SMILES, say what it is "
        "with --format",
        "symmetrize": "give --symmetrize to drop the directions, or if each edge is listed once",
        "delimiter": "give --delimiter {value} if they are separated by it",
        "bond_orders": "leave out --bond-orders",
        "missing_label": "--missing label makes a label of its own of missing ones",
        "missing_attribute": "fill it in, or give --missing nan and --impute-attributes mean or "
        "median to fit",
        "missing_value": "set it on all nodes, or say with --missing what becomes of nodes without",
        "reading": "read all in one way, such as with {value}",
        "weights": "read all graphs in the same way, with or without weights",
        "max_bytes": "give a larger --max-bytes if you trust it",
        **DATA_HOME_REMEDY,
    }

    data_home: DataHome = None
    format: Annotated[
        Format | None,
        _reading("--format", help="What GRAPHS is, where name and content do not tell."),
    ] = None
    use_labels: Annotated[
        bool, _reading("--labels/--no-labels", help="Whether node labels are used.")
    ] = True
    use_attributes: Annotated[
        bool, _reading("--attributes/--no-attributes", help="Whether node attributes are used.")
    ] = True
    label: Annotated[
        str | None, _reading("--label-name", help="GraphML: node data that is the label.")
    ] = None
    attribute: Annotated[
        list[str] | None,
        _reading("--attribute-name", help="GraphML: node data that is an attribute; repeatable."),
    ] = None
    weight: Annotated[
        str | None,
        _reading("--weight-name", help="GraphML: edge data that is the weight; weight by default."),
    ] = None
    missing: Annotated[
        Literal["error", "label", "nan", "keep"] | None,
        _reading(
            "--missing",
            help="GraphML: nodes without the label or attribute get a label of their own, NaN "
            "(see --impute-attributes), or both; an error by default.",
        ),
    ] = None
    weighted: Annotated[
        bool | None,
        _reading("--weighted/--no-weights", help="Edge lists: the third column holds weights."),
    ] = None
    delimiter: Annotated[
        str | None, _reading("--delimiter", help="Edge lists: what separates columns.")
    ] = None
    symmetrize: Annotated[
        bool, _reading("--symmetrize", help="Take directed edges for undirected ones.")
    ] = False
    smiles_column: Annotated[
        str | None, _reading("--smiles-column", help="CSV: column of the SMILES strings.")
    ] = None
    target_column: Annotated[
        str | None, _reading("--target-column", help="CSV: column of the targets.")
    ] = None
    bond_orders: Annotated[
        bool | None,
        _reading("--bond-orders/--no-bond-orders", help="SMILES: bonds weigh their order."),
    ] = None
    atom_attribute: Annotated[
        list[str] | None,
        _reading(
            "--atom-attribute",
            help="SMILES: attribute of atoms, such as aromatic or charge; repeatable.",
        ),
    ] = None
    add_hydrogens: Annotated[
        bool | None,
        _reading("--add-hydrogens/--no-hydrogens", help="SMILES: hydrogens are nodes too."),
    ] = None
    skip_invalid: Annotated[
        bool,
        _reading(
            "--skip-invalid",
            help="Leave out SMILES that RDKit cannot read, and say so; others keep their numbers.",
        ),
    ] = False
    targets: Annotated[
        Path | None,
        FileRole.READ,
        _reading("--targets", help="Text file of targets, one line per graph."),
    ] = None
    max_bytes: Annotated[
        int | None,
        _reading(
            "--max-bytes",
            min=1,
            help="Most memory and unpacked text of a file; by its size. Files may come from "
            "strangers.",
        ),
    ] = None


@dataclass(frozen=True)
class Walks:
    """How return probabilities are found."""

    remedies: ClassVar[Mapping[str, str]] = {
        "monte_carlo": "--method monte-carlo estimates them in a fraction of that"
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

    n_components: Components = DEFAULT_COMPONENTS
    feature_map: Annotated[
        Literal["joint", "tensor"], _embedding("--feature-map", help="Tensor is the paper's.")
    ] = "joint"
    frequencies: Annotated[
        Literal["plain", "orthogonal", "quasi-random"],
        _embedding("--frequencies", help="How frequencies are drawn."),
    ] = "orthogonal"

    def parameters(self) -> dict[str, Any]:
        """Parameters of `RetGKEmbedding`."""
        return dict(vars(self))


@dataclass(frozen=True)
class Learning:
    """How a model is chosen."""

    remedies: ClassVar[Mapping[str, str]] = {
        "approximate": "use --approximate yes",
        "fewer_candidates": "give fewer candidates, such as --C 10 --p 1 --scale 1",
        "n_components": "give a smaller --n-components",
    }

    metric: Annotated[
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
    ] = None
    task: Annotated[
        Literal["auto", "classification", "regression"],
        _learning("--task", help="By the targets: numbers with fractions are regressed on."),
    ] = "auto"
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
    tol: Tolerance = 1e-4
    balanced: Annotated[
        bool, _learning("--balanced", help="Weight classes by the inverse of their size.")
    ] = False
    impute_attributes: Annotated[
        Literal["mean", "median"] | None,
        _learning("--impute-attributes", help="Of the training nodes, for missing attributes."),
    ] = None
