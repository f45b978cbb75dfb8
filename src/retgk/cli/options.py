"""Arguments and options that several commands share, each written once."""

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer

from retgk._runtime.parameters import DEPTH, TOL, VECTORS, WALKS
from retgk.datasets import TUDATASETS
from retgk.errors import InvalidInputError

# What the shell offers after a tab. Nothing heavy is imported here.


def data_set_names(incomplete: str) -> list[str]:
    return [name for name in TUDATASETS if name.lower().startswith(incomplete.lower())]


def source_names(incomplete: str) -> list[str]:
    from retgk.io.formats import readable_endings

    names = [name for name in ("digits",) if name.startswith(incomplete)]
    return [*names, *data_set_names(incomplete), *_paths(incomplete, readable_endings())]


def format_names(incomplete: str) -> list[str]:
    from retgk.io.formats import formats

    return [name for name in formats() if name.startswith(incomplete.lower())]


def known_format(name: str | None) -> str | None:
    if name is not None and name not in (names := format_names("")):
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(map(repr, names))}.")
    return name


def metric_names(incomplete: str) -> list[str]:
    from retgk.learning.metrics import metrics_of

    every = (metric.name for regression in (False, True) for metric in metrics_of(regression))
    return [name for name in every if name.startswith(incomplete.lower())]


def method_names(incomplete: str) -> list[str]:
    """Names of methods to compare, the last of several with commas."""
    from retgk.model_selection.methods import METHODS

    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in METHODS if name.startswith(last.lower())]


def model_files(incomplete: str) -> list[str]:
    return list(_paths(incomplete, (".retgk",)))


def _paths(incomplete: str, suffixes: tuple[str, ...]) -> Iterator[str]:
    folder, start = os.path.split(incomplete)
    try:
        found = sorted(Path(folder or ".").iterdir())
    except OSError:
        return
    for path in found:
        if path.name.startswith(start) and not (path.name.startswith(".") and not start):
            name = os.path.join(folder, path.name)
            if path.is_dir():
                yield f"{name}/"
            elif path.name.endswith(suffixes):
                yield name


class FileRole(Enum):
    """What a command does with the file that an option names; two uses of one file are refused."""

    READ = "read"
    WRITTEN = "written"


SOURCE_HELP = (
    "Graphs: the name of a TUDataset collection, `digits` (bundled), a file or folder "
    "(TU text, {endings}; tables are matrices, or have a column of SMILES), or - for "
    "standard input."
)
"""The help of a command fills in the endings when it is shown, as `LateHelp` does it."""


def in_panel(panel: str) -> Callable[..., Any]:
    def option(*names: str, **settings: Any) -> Any:
        return typer.Option(*names, rich_help_panel=panel, **settings)

    return option


_reading = in_panel("Reading")
_common = in_panel("Output")


def _one_or_several(names: list[str] | None) -> Any:
    return names[0] if names is not None and len(names) == 1 else names or None


def _categories(texts: Any) -> Any:
    """Names of categorical node data, with their values where all are given as NAME=A,B,C."""
    if isinstance(texts, dict) or not texts or not all("=" in text for text in texts):
        return texts or None
    return {name: values.split(",") for name, _, values in (text.partition("=") for text in texts)}


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
    Path | None, _reading(envvar="RETGK_DATA_HOME", help="Folder of the TUDataset collections.")
]
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
Threads = Annotated[
    int | None, typer.Option("--n-jobs", "-j", help="Threads; all cores by default.")
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything random.")]
Debug = Annotated[bool, _common("--debug", help="Show a traceback when it fails.")]


@dataclass(frozen=True)
class Debugging:
    debug: Debug = False


@dataclass(frozen=True)
class Common:
    json: Annotated[bool, _common("--json", help="Print the result as JSON, for machines.")] = False
    quiet: Annotated[
        bool, _common("--quiet", "-q", help="No progress bars and notes on standard error.")
    ] = False
    debug: Debug = False


@dataclass(frozen=True)
class Reading:
    data_home: DataHome = None
    format: Annotated[
        str | None,
        _reading(
            help="What GRAPHS is, where name and content do not tell: {formats}.",
            callback=known_format,
            autocompletion=format_names,
        ),
    ] = None
    use_labels: Annotated[bool, _reading(" /--no-labels", help="Leave out labels of nodes.")] = True
    use_attributes: Annotated[
        bool, _reading(" /--no-attributes", help="Leave out attributes of nodes.")
    ] = True
    use_edge_labels: Annotated[
        bool,
        _reading(" /--no-edge-labels", help="Leave out labels of edges."),
    ] = True
    label: Annotated[
        list[str] | None,
        _reading(
            help="GraphML, GML, JSON: node data that is the label; several make one together."
        ),
    ] = None
    attributes: Annotated[
        list[str] | None,
        _reading(help="GraphML, GML, JSON: node data that is an attribute; repeatable."),
    ] = None
    categorical: Annotated[
        list[str] | None,
        _reading(
            metavar="NAME[=VALUE,...]",
            help="GraphML, GML, JSON: node data that becomes a column for each value; repeatable.",
        ),
    ] = None
    weight: Annotated[
        str | None,
        _reading(
            help="GraphML, GML, JSON: edge data that is the weight; weight by default. Edge lists: "
            "name or number of the column, 3 or more; a third column of numbers by default."
        ),
    ] = None
    edge_label: Annotated[
        list[str] | None,
        _reading(
            help="GraphML, GML, JSON: edge data that is the label of an edge; several make one. "
            "Edge lists: names or numbers of columns."
        ),
    ] = None
    missing: Annotated[
        Literal["error", "label", "nan", "keep"] | None,
        _reading(
            help="GraphML, GML, JSON: nodes without the label or attribute get a label of their "
            "own, NaN (see --impute-attributes), or both; an error by default."
        ),
    ] = None
    use_weights: Annotated[
        bool,
        _reading(
            " /--no-weights", help="GraphML, GML, JSON, edge lists: leave out weights of edges."
        ),
    ] = True
    weight_column: Annotated[
        int | None,
        _reading(
            min=0, help="TU text: column of NAME_edge_attributes.txt that is the weight, from 0."
        ),
    ] = None
    delimiter: Annotated[str | None, _reading(help="Edge lists: what separates columns.")] = None
    symmetrize: Annotated[
        bool, _reading("--symmetrize", help="Take directed edges for undirected ones.")
    ] = False
    symmetrize_by: Annotated[
        Literal["max", "mean", "sum"] | None,
        _reading(
            help="The same, and what the weights of both directions become; the larger by default."
        ),
    ] = None
    negative: Annotated[
        Literal["error", "absolute", "positive", "split"] | None,
        _reading(
            help="Negative weights become absolute values, no edges, or edges of a "
            "second part of the graph with labels + and -; an error by default."
        ),
    ] = None
    fisher_z: Annotated[
        bool | None,
        _reading("--fisher-z", help="Matrices of correlations: Fisher's z, without the diagonal."),
    ] = None
    threshold: Annotated[
        float | None,
        _reading(help="Matrices: leave out edges of smaller absolute weight, and the diagonal."),
    ] = None
    density: Annotated[
        float | None,
        _reading(
            help="Matrices: keep this share of the pairs of nodes, the strongest, of every graph."
        ),
    ] = None
    smiles_column: Annotated[str | None, _reading(help="CSV: column of the SMILES strings.")] = None
    name_column: Annotated[
        str | None,
        _reading(help='CSV: column of the names of graphs; "name", "id" and the like by default.'),
    ] = None
    target_column: Annotated[
        str | None,
        _reading(
            help="CSV, --targets: column of the targets. Of molecules also several, a,b,c, or all: "
            "every column of numbers; they may have gaps, and --skip-invalid is on."
        ),
    ] = None
    chemistry: Annotated[
        Literal["full", "elements"] | None,
        _reading(
            help="SMILES: labels are element, degree, charge, hydrogens, aromatic and ring, and "
            "types of bonds (full, the default), or elements."
        ),
    ] = None
    stereo: Annotated[
        bool | None,
        _reading("--stereo/--no-stereo", help="SMILES: labels tell stereochemistry, too."),
    ] = None
    largest_fragment: Annotated[
        bool | None,
        _reading(
            "--largest-fragment/--no-largest-fragment",
            help="SMILES: of salts and mixtures, read the largest molecule alone.",
        ),
    ] = None
    bond_orders: Annotated[
        bool | None,
        _reading("--bond-orders/--no-bond-orders", help="SMILES: bonds weigh their order."),
    ] = None
    bond_types: Annotated[
        bool | None,
        _reading(
            "--bond-types/--no-bond-types", help="SMILES: types of bonds are labels of edges."
        ),
    ] = None
    atom_attributes: Annotated[
        list[str] | None,
        _reading(help="SMILES: attribute of atoms, such as aromatic or charge; repeatable."),
    ] = None
    add_hydrogens: Annotated[
        bool | None,
        _reading("--add-hydrogens/--no-add-hydrogens", help="SMILES: hydrogens are nodes too."),
    ] = None
    skip_invalid: Annotated[
        bool,
        _reading(
            "--skip-invalid",
            help="Leave out SMILES that RDKit cannot read, rows without SMILES or target, and "
            "graphs without nodes, with their targets, and say so; others keep their numbers.",
        ),
    ] = False
    targets: Annotated[
        Path | None,
        FileRole.READ,
        _reading(
            help="File of targets: one line per graph, or a .csv table that names graphs or files."
        ),
    ] = None
    variable: Annotated[str | None, _reading(help=".mat, .npz: name of the matrix to read.")] = None
    max_bytes: Annotated[
        int | None,
        _reading(
            min=1,
            help="Most memory that reading may take; by the size of the file. Files may come from "
            "strangers.",
        ),
    ] = None
    isolated: Annotated[
        bool,
        _reading(
            "--isolated",
            help="Read in a process of its own, so that a file that crashes a library is an error.",
        ),
    ] = False

    @property
    def directions(self) -> Any:
        return self.symmetrize_by or self.symmetrize

    def named_values(self) -> dict[str, Any]:
        """Options that name values; an empty list says that there are none, which warns of none."""
        on_edges = self.edge_label or (self.edge_label if self.use_edge_labels else [])
        return {
            "label": _one_or_several(self.label),
            "attributes": self.attributes or (self.attributes if self.use_attributes else []),
            "categorical": _categories(self.categorical),
            "edge_label": on_edges if on_edges == [] else _one_or_several(on_edges),
        }


# Options of kernels, embeddings and models, each written once.

Method = Literal["exact", "eigh", "monte-carlo", "monte-carlo-returns"]
Scaling = Literal["raw", "standard", "drop"]

_walks = in_panel("Return probabilities")
_kernel = in_panel("Kernel")
_embedding = in_panel("Embedding")
_learning = in_panel("Learning")


def _self_loop(text: str) -> float | str:
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
    try:
        value = float(text) if "." in text else int(text)
    except ValueError:
        value = 0
    if value <= 0 or (isinstance(value, float) and value > 1):
        raise typer.BadParameter(f"{text!r} is neither a number of nodes nor a share in (0, 1]")
    return value


def _scaling(text: str) -> str:
    words = get_args(Scaling)
    if text not in words:
        raise typer.BadParameter(f"{text!r} is not one of {', '.join(map(repr, words))}")
    return text


def _tolerance(value: float) -> float:
    if not TOL["tol"][0].holds(value):
        raise typer.BadParameter(f"{value} is not {TOL['tol'][0]}")
    return value


Tolerance = Annotated[
    float,
    _kernel(
        callback=_tolerance, help="Largest error of an inner product, below 1; 0 for plain float64."
    ),
]
KernelOption = Annotated[
    str | None,
    _kernel(
        "--kernel",
        metavar="NAME",
        help="Another kernel, as `retgk compare` names it, such as wl or sp; retgk by default.",
        autocompletion=method_names,
    ),
]
ScaleAttributes = Annotated[
    Scaling,
    _kernel(help="Node attributes as they are, each divided by its deviation, or left out."),
]
Depth = Annotated[
    int,
    _kernel(
        min=DEPTH["depth"][0].least,
        help="Rounds in which labels take in those of their neighbours.",
    ),
]


@dataclass(frozen=True)
class Walks:
    n_steps: Annotated[int, _walks(min=WALKS["n_steps"][0].least, help="Number of steps.")] = 50
    method: Annotated[Method, _walks(help="Exact, or by random walks.")] = "exact"
    n_walks: Annotated[
        int, _walks(min=WALKS["n_walks"][0].least, help="Walks per node, for Monte Carlo.")
    ] = 200
    self_loop: Annotated[
        Any,
        _walks(
            parser=_self_loop,
            metavar="mean|NUMBER",
            help="Weight of the self-loop that nodes get; the mean weight of their graph, or this.",
        ),
    ] = "mean"
    n_jobs: Annotated[
        int | None, _walks("--n-jobs", "-j", help="Threads; all cores by default.")
    ] = None
    seed: Annotated[int, _walks(min=0, help="Seed of everything random.")] = 0

    @property
    def how(self) -> dict[str, Any]:
        """Options that differ from their defaults, of walks themselves."""
        own = ("n_steps", "method", "n_walks", "self_loop")
        return {name: getattr(self, name) for name in own if getattr(self, name) != _default(name)}

    def walks(self, **more: Any) -> Any:
        from retgk.walks.probabilities import Walks as WalksOfNodes

        return WalksOfNodes(**self.how, **more)

    @property
    def common(self) -> dict[str, Any]:
        """Parameters of estimators: threads and a seed."""
        return {"n_jobs": self.n_jobs, "random_state": self.seed}

    @property
    def of_functions(self) -> dict[str, Any]:
        return {"n_jobs": self.n_jobs, "rng": self.seed}


def _default(name: str) -> Any:
    return Walks.__dataclass_fields__[name].default


@dataclass(frozen=True)
class KernelOptions:
    kernel: KernelOption = None
    matrix: Annotated[
        Literal["kernel", "products", "distances"],
        _kernel(help="exp(-gamma MMD^p), inner products, or MMD."),
    ] = "kernel"
    p: Annotated[float, _kernel(help="Exponent, in (0, 2].")] = 1.0
    scale: Annotated[float, _kernel(help="Bandwidth, in median distances.")] = 1.0
    gamma: Annotated[
        float | None,
        _kernel(help="Of exp(-gamma |p - q|), of return probabilities; by the median."),
    ] = None
    scale_attributes: ScaleAttributes = "raw"
    depth: Depth = 0
    tol: Tolerance = 1e-4
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
    n_components: Annotated[
        int | None,
        _embedding(
            "--n-components",
            "-D",
            min=VECTORS["n_components"][0].least,
            help="Random features instead of the exact kernel; joint and tensor have them for each "
            "label. Vectors have 512 by default.",
        ),
    ] = None
    feature_map: Annotated[
        Literal["phases", "joint", "tensor"],
        _embedding(help="One width for any labels, or a block a label; tensor is the paper's."),
    ] = "phases"
    frequencies: Annotated[
        Literal["plain", "orthogonal", "quasi-random"],
        _embedding(help="How frequencies are drawn."),
    ] = "orthogonal"
    nodes: Annotated[
        Any,
        _embedding(
            parser=_node_count,
            metavar="COUNT|SHARE",
            help="Nodes that are drawn to stand for a graph: a number, or a share such as 0.1; all "
            "by default. The error that it costs is told.",
        ),
    ] = None

    def parameters(self, walks: Walks) -> dict[str, Any]:
        """Parameters of a `RetGKEmbedding`."""
        own: dict[str, Any] = {"feature_map": self.feature_map, "frequencies": self.frequencies}
        if self.n_components is not None:
            own["n_components"] = self.n_components
        return {"walks": walks.walks(nodes=self.nodes), **own, **walks.common}


def named_kernel(name: str | None, walks: Walks, given: dict[str, bool]) -> Any:
    """Kernel of others by its name, or None for RetGK, whose options the other ones are."""
    if name in (None, "retgk"):
        return None
    from sklearn.base import clone

    from retgk.kernels.others.base import PeerKernel
    from retgk.model_selection.methods import METHODS, checked_names

    (plain,) = checked_names([name or ""])
    kernel = getattr(METHODS[plain].estimator(False), "kernel", None)
    if not isinstance(kernel, PeerKernel):
        raise InvalidInputError(f"--kernel {name} is no kernel here; give one such as wl or sp")
    check_of_retgk(plain, walks, given)
    return clone(kernel).set_params(n_jobs=walks.n_jobs)


def check_of_retgk(name: str, walks: Walks, given: dict[str, bool]) -> None:
    """Raise if another kernel gets options that RetGK alone has."""
    for option, is_given in {**dict.fromkeys(walks.how, True), **given}.items():
        if is_given:
            raise InvalidInputError(
                f"--{option.replace('_', '-')} is an option of RetGK; leave it out with --kernel "
                f"{name}"
            )


Metrics = Annotated[
    list[str] | None,
    _learning(
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
    _learning(help="By the targets: numbers with fractions are regressed on."),
]


@dataclass(frozen=True)
class Learning:
    metric: Metrics = None
    task: Task = "auto"
    kernel: KernelOption = None
    n_components: Annotated[
        int | None,
        _learning(
            "--n-components",
            "-D",
            min=VECTORS["n_components"][0].least,
            help="Random features instead of the exact kernel; 1024 of over 10^12 pairs of nodes. "
            "For the exact one: --kernel retgk-exact.",
        ),
    ] = None
    C: Annotated[list[float] | None, _learning("--C", help="Candidate for C; repeatable.")] = None
    p: Annotated[list[float] | None, _learning(help="Candidate for the exponent; repeatable.")] = (
        None
    )
    scale: Annotated[
        list[float] | None, _learning(help="Candidate bandwidth in median distances; repeatable.")
    ] = None
    scale_attributes: Annotated[
        list[Any] | None,
        _learning(
            parser=_scaling,
            metavar="raw|standard|drop",
            help="Candidate for node attributes: as they are, each divided by its deviation, or "
            "left out; repeatable.",
        ),
    ] = None
    depth: Annotated[
        list[int] | None,
        _learning(
            min=0,
            help="Candidate for the rounds in which labels take in their neighbours; repeatable.",
        ),
    ] = None
    tol: Tolerance = 1e-4
    n_landmarks: Annotated[
        int | None,
        _learning(min=1, help="Training graphs that stand for all where these are many; by size."),
    ] = None
    balanced: Annotated[
        bool, _learning("--balanced", help="Weight classes by the inverse of their size.")
    ] = False
    impute_attributes: Annotated[
        Literal["mean", "median"] | None,
        _learning(help="Of the training nodes, for missing attributes."),
    ] = None

    @property
    def candidates(self) -> dict[str, tuple[Any, ...]]:
        """Candidates for parameters of RetGK, by option."""
        names = ("scale_attributes", "depth", "p", "scale")
        return {name: tuple(values) for name in names if (values := getattr(self, name))}
