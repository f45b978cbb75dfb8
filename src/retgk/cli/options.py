"""Arguments and options that several commands share, each written once."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

import typer

from retgk.cli.completion import data_set_names, model_files, source_names
from retgk.io.formats.graph_files import ENDINGS, Format

__all__ = [
    "DATA_HOME_REMEDY",
    "SOURCE_HELP",
    "Common",
    "DataHome",
    "DataSetNames",
    "Debugging",
    "FileRole",
    "ModelFile",
    "OptionalOutput",
    "Output",
    "Reading",
    "Source",
    "in_panel",
]


class FileRole(Enum):
    """What a command does with the file that an option names; two uses of one file are refused."""

    READ = "read"
    WRITTEN = "written"


SOURCE_HELP = (
    "Graphs: the name of a TUDataset collection, `digits` (bundled), a file or folder "
    f"(TU text, {', '.join(ENDINGS)}; tables are matrices, or have a column of SMILES), or - for "
    "standard input."
)


def in_panel(panel: str) -> Callable[..., Any]:
    """Make options that the help shows in a panel of this name."""

    def option(*names: str, **settings: Any) -> Any:
        return typer.Option(*names, rich_help_panel=panel, **settings)

    return option


_reading = in_panel("Reading")
_common = in_panel("Output")


def _one_or_several(names: list[str] | None) -> Any:
    """Name of the label, or the names of its parts, as `read_graphs` takes them."""
    return names[0] if names is not None and len(names) == 1 else names or None


def _categories(texts: Any) -> Any:
    """
    Names of categorical node data, with their values where all are given as NAME=A,B,C.

    Those that a model remembers have their values already.
    """
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
        "edge_values": "--edge-label-name reads labels of edges, --weight-name weights",
        "edge_labels": "give all the same with --edge-label-name, --bond-types or --no-edge-labels",
        "missing_edge_label": "set it on all edges, or give edges without a label of their own "
        "with --missing label",
        "categorical": "read it with --label-name {value}, or as one column for each value with "
        "--categorical-name {value}",
        "categories": "graphs that are read apart need the same columns: --categorical-name "
        "{value}=VALUE,VALUE,... lists them",
        "variable": "choose one of {value} with --variable",
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
        "negative": "say with --negative absolute, positive or split what becomes of them",
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
    use_edge_labels: Annotated[
        bool,
        _reading("--edge-labels/--no-edge-labels", help="Whether labels of edges are used."),
    ] = True
    label: Annotated[
        list[str] | None,
        _reading(
            "--label-name",
            help="GraphML, JSON: node data that is the label; several make one of all together.",
        ),
    ] = None
    attribute: Annotated[
        list[str] | None,
        _reading(
            "--attribute-name", help="GraphML, JSON: node data that is an attribute; repeatable."
        ),
    ] = None
    categorical: Annotated[
        list[str] | None,
        _reading(
            "--categorical-name",
            metavar="NAME[=VALUE,...]",
            help="GraphML, JSON: node data that becomes one column for each value; repeatable.",
        ),
    ] = None
    weight: Annotated[
        str | None,
        _reading(
            "--weight-name",
            help="GraphML, JSON: edge data that is the weight; weight by default.",
        ),
    ] = None
    edge_label: Annotated[
        list[str] | None,
        _reading(
            "--edge-label-name",
            help="GraphML, JSON: edge data that is the label of an edge; several make one.",
        ),
    ] = None
    missing: Annotated[
        Literal["error", "label", "nan", "keep"] | None,
        _reading(
            "--missing",
            help="GraphML, JSON: nodes without the label or attribute get a label of their own, "
            "NaN (see --impute-attributes), or both; an error by default.",
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
    symmetrize_by: Annotated[
        Literal["max", "mean", "sum"] | None,
        _reading(
            "--symmetrize-by",
            help="The same, and what the weights of both directions become; the larger by default.",
        ),
    ] = None
    negative: Annotated[
        Literal["error", "absolute", "positive", "split"] | None,
        _reading(
            "--negative",
            help="Matrices: negative weights become absolute values, no edges, or edges of a "
            "second part of the graph with labels + and -; an error by default.",
        ),
    ] = None
    smiles_column: Annotated[
        str | None, _reading("--smiles-column", help="CSV: column of the SMILES strings.")
    ] = None
    target_column: Annotated[
        str | None, _reading("--target-column", help="CSV, --targets: column of the targets.")
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
        _reading(
            "--targets",
            help="File of targets: one line per graph, or a .csv table that names graphs or files.",
        ),
    ] = None
    variable: Annotated[
        str | None, _reading("--variable", help=".mat, .npz: name of the matrix to read.")
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

    @property
    def directions(self) -> Any:
        """Argument `symmetrize` of `read_graphs`; a model may have remembered a word."""
        return self.symmetrize_by or self.symmetrize

    def named_values(self) -> dict[str, Any]:
        """Arguments of `read_graphs` that say by name which values of nodes and edges are read."""
        return {
            "label": _one_or_several(self.label),
            "attributes": self.attribute,
            "categorical": _categories(self.categorical),
            "edge_label": self.edge_label
            if self.edge_label == []
            else _one_or_several(self.edge_label),
        }
