"""`retgk test`: do populations of graphs differ, do graphs go with a value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer

from retgk.cli.command import Stopwatch, command, note, print_lines, print_record, print_table
from retgk.cli.inputs import (
    column_values,
    key_columns,
    node_columns,
    read_collection,
    required_targets,
)
from retgk.cli.options import (
    Common,
    FileRole,
    KernelOption,
    OptionalOutput,
    Reading,
    ScaleAttributes,
    Source,
    Walks,
    in_panel,
    named_kernel,
    source_names,
)
from retgk.cli.outputs import Table, check_new_file, check_output, report_output, write_table
from retgk.errors import InvalidInputError

if TYPE_CHECKING:
    from retgk.io.dataset import GraphDataset
    from retgk.stats.results import PopulationTest

_test = in_panel("Test")
_PICTURES = (".png", ".svg", ".pdf")
_SHOWN = 10

Second = Annotated[
    str | None,
    FileRole.READ,
    typer.Argument(
        metavar="[OTHERS]",
        help="Graphs of the second population; without it the targets of GRAPHS are the groups, or "
        "the values that graphs may go with.",
        autocompletion=source_names,
    ),
]
NodeOutput = Annotated[
    str | None,
    FileRole.WRITTEN,
    typer.Option(
        metavar="FILE",
        help="Table to write with a row for every node: above 0, it speaks for the first group.",
    ),
]
Figure = Annotated[
    Path | None,
    FileRole.WRITTEN,
    typer.Option(
        metavar="FILE",
        help=f"Picture of the permutation distribution to write, {', '.join(_PICTURES)}.",
    ),
]


@dataclass(frozen=True)
class Testing:
    __test__: ClassVar[bool] = False
    kernel: KernelOption = None
    association: Annotated[
        bool, _test("--association", help="Test whether graphs go with their targets, as numbers.")
    ] = False
    compare: Annotated[
        Literal["both", "graphs", "nodes"],
        _test(help="Graphs, by K_2, or means of all their nodes."),
    ] = "both"
    bandwidth: Annotated[
        list[float] | None, _test(help="In median distances of nodes; repeatable. 0.25, 1 and 4.")
    ] = None
    depth: Annotated[
        list[int] | None,
        _test(min=0, help="Rounds by which labels are refined; repeatable. 0 and 2."),
    ] = None
    groups: Annotated[
        str | None,
        FileRole.READ,
        _test(
            metavar="COLUMN|FILE",
            help="Column of the table of GRAPHS or --targets, or text file of one line per graph: "
            "labels are permuted within these groups.",
        ),
    ] = None
    paired: Annotated[
        bool, _test("--paired", help="Graph i of GRAPHS and graph i of OTHERS are a pair.")
    ] = False
    pairs: Annotated[
        str | None,
        FileRole.READ,
        _test(
            metavar="COLUMN|FILE",
            help="Column of the table of GRAPHS or --targets, or text file of one line per graph: "
            "names of pairs.",
        ),
    ] = None
    nodes_correspond: Annotated[
        bool,
        _test("--nodes-correspond", help="Node i is the same in all graphs: test every node too."),
    ] = False
    n_permutations: Annotated[
        int, _test(min=1, help="Random relabellings, or all if they are fewer.")
    ] = 9999
    confidence: Annotated[float, _test(help="Of the interval of the effect size.")] = 0.95
    engine: Annotated[
        Literal["auto", "exact", "embedded"],
        _test(help="All pairs of nodes, or random features; by size."),
    ] = "auto"
    scale_attributes: ScaleAttributes = "raw"

    def parameters(self, walks: Walks) -> dict[str, Any]:
        settings = {"n_permutations": self.n_permutations, "confidence": self.confidence}
        names = ("compare", "engine", "scale_attributes", "bandwidth", "depth")
        defaults = Testing()
        given = {name: getattr(self, name) != getattr(defaults, name) for name in names}
        kernel = named_kernel(self.kernel, walks, given)
        if kernel is not None:
            return {**settings, **walks.of_functions, "kernel": kernel}
        several = {"bandwidths": self.bandwidth, "depths": self.depth}
        return {
            **settings,
            **walks.of_functions,
            "walks": walks.walks(),
            "compare": self.compare,
            "engine": self.engine,
            "scale_attributes": self.scale_attributes,
            **{name: values for name, values in several.items() if values},
        }


@command(
    name="test",
    examples=[
        "retgk test patients.npy controls.npy --negative absolute --nodes-correspond",
        "retgk test before/ after/ --paired",
        "retgk test scans.npz --targets group.txt --groups site.txt --figure test.png",
        "retgk test scans/ --targets subjects.csv --target-column diagnosis --groups site",
        "retgk test PTC_MR --kernel wl --json",
        "retgk test molecules.csv --target-column solubility --association",
    ],
)
def population_test(
    source: Source,
    reading: Reading,
    walks: Walks,
    testing: Testing,
    common: Common,
    second: Second = None,
    output: OptionalOutput = None,
    nodes_output: NodeOutput = None,
    figure: Figure = None,
) -> None:
    """
    Test whether populations of graphs differ, or whether graphs go with a value.

    Two sources are two populations. Of one source the targets say the group of every graph, two or
    more; targets with fractions are values. A table written with -o has a row for every graph, with
    how much it is like each group.
    """
    _check_outputs(output, nodes_output, figure)
    watch = Stopwatch()
    with watch.timing("read"):
        parts = _read_parts(source, second, reading, common)
    with watch.timing("test"):
        _check_two_sides(parts, testing, nodes_output)
        result = _run(parts, reading, walks, testing)
    if figure is not None:
        _draw(result, figure)
    if output is not None:
        table = _graph_table([data for _, data in parts], result)
        write_table(table, output, json=common.json)
    if nodes_output is not None:
        write_table(_witness_table(parts, result), nodes_output, json=common.json)
    if common.json:
        if output != "-":
            print_record({**result.to_dict(), "seconds": watch.seconds})
        return
    if output is not None:
        report_output(table.shape, output, common, watch, p_value=result.p_value)
    if output != "-":
        print_lines(str(result))
        _print_nodes(result)
    for path in (figure, nodes_output):
        if path is not None:
            note(common, f"wrote {path}")


def _check_outputs(output: str | None, nodes_output: str | None, figure: Path | None) -> None:
    for path in (output, nodes_output):
        if path is not None:
            check_output(path, has_matrix=False)
    if nodes_output == "-":
        raise InvalidInputError("--nodes-output writes a file; give a name instead of -")
    if figure is not None:
        if figure.suffix.lower() not in _PICTURES:
            raise InvalidInputError(
                f"cannot tell from {str(figure)!r} what to draw; end the name in one of "
                f"{', '.join(_PICTURES)}"
            )
        check_new_file(figure)


def _read_parts(
    source: str, second: str | None, reading: Reading, common: Common
) -> list[tuple[str, GraphDataset]]:
    if second is None:
        return [(source, read_collection(source, reading, common))]
    if reading.targets is not None or reading.target_column is not None:
        raise InvalidInputError(
            "two sources are two populations, without targets; leave out --targets and "
            "--target-column, or the second source"
        )
    if source == second == "-":
        raise InvalidInputError("standard input can be one of two sources, not both")
    return [(each, read_collection(each, reading, common)) for each in (source, second)]


def _check_two_sides(
    parts: list[tuple[str, GraphDataset]], testing: Testing, nodes_output: str | None
) -> None:
    """Raise if nodes are to speak for one of two groups, and there are no two."""
    if nodes_output is None or len(parts) == 2:
        return
    targets = required_targets(parts[0][1])
    if testing.association or _are_values(targets) or len(set(targets.tolist())) != 2:
        raise InvalidInputError("--nodes-output is for two groups, for one of which a node speaks")


def _are_values(targets: Any) -> bool:
    return targets.dtype.kind == "f" and bool((targets % 1 != 0).any())


def _run(
    parts: list[tuple[str, GraphDataset]], reading: Reading, walks: Walks, testing: Testing
) -> PopulationTest:
    import numpy as np

    from retgk.stats.tests import association_test, k_sample_test, two_sample_test

    settings = testing.parameters(walks)
    groups = _values_of(testing.groups, parts, reading, "groups")
    if len(parts) == 2:
        if testing.association:
            raise InvalidInputError("--association is for the targets of one source")
        settings |= {
            "pairs": _pairs(testing, parts, reading),
            "nodes_correspond": testing.nodes_correspond,
        }
        first, second = (data for _, data in parts)
        result = two_sample_test(first, second, groups=groups, **settings)
        return replace(result, group_names=tuple(_names_of_parts(parts)))
    data = parts[0][1]
    targets = required_targets(data)
    if testing.association or _are_values(targets):
        for option, given in (
            ("--paired", testing.paired),
            ("--pairs", testing.pairs),
            ("--nodes-correspond", testing.nodes_correspond),
        ):
            if given:
                raise InvalidInputError(f"{option} is for groups, and the targets are values")
        return association_test(data, targets, groups=groups, **settings)
    settings["nodes_correspond"] = testing.nodes_correspond
    if len(np.unique(targets)) == 2:
        settings["pairs"] = _pairs(testing, parts, reading)
        return two_sample_test(data, by=targets, groups=groups, **settings)
    if testing.paired or testing.pairs is not None:
        raise InvalidInputError("pairs are for two groups; use --groups")
    return k_sample_test(data, by=targets, groups=groups, **settings)


def _pairs(testing: Testing, parts: list[tuple[str, GraphDataset]], reading: Reading) -> Any:
    """Names of pairs, True where they are in order, None where there are none."""
    if testing.paired and testing.pairs is not None:
        raise InvalidInputError("--paired and --pairs both say what pairs are; leave out one")
    return testing.paired or _values_of(testing.pairs, parts, reading, "pairs")


def _names_of_parts(parts: list[tuple[str, GraphDataset]]) -> list[str]:
    names = [data.name for _, data in parts]
    return names if len(set(names)) == len(names) else [source for source, _ in parts]


def _values_of(
    name: str | None, parts: list[tuple[str, GraphDataset]], reading: Reading, option: str
) -> list[str] | None:
    """One text for each graph of all sources, from columns of tables or from one text file."""
    if name is None:
        return None
    if len(parts) == 1 or not Path(name).is_file():
        return [
            value
            for source, data in parts
            for value in column_values(source, data, reading, name, option)
        ]
    from retgk.io.dataset import joined_datasets

    both = joined_datasets([data for _, data in parts], "both")
    return column_values(parts[0][0], both, reading, name, option)


def _draw(result: PopulationTest, figure: Path) -> None:
    from retgk._runtime.files import atomic_path
    from retgk._runtime.names import optional_module
    from retgk.plot import permutation_distribution

    optional_module("matplotlib", "plot").use("agg")

    picture: Any = permutation_distribution(result).figure
    with atomic_path(figure) as part:
        picture.savefig(part, format=figure.suffix[1:].lower(), dpi=200)


def _graph_table(parts: list[GraphDataset], result: PopulationTest) -> Table:
    """One row for each graph: its source, number, name and group, and how alike it is to each."""
    import numpy as np

    keys = [key_columns(data) for data in parts]
    shared = [name for name in keys[0] if all(name in own for own in keys)]
    columns = {name: np.concatenate([own[name] for own in keys]) for name in shared}
    if result.affinities is None:
        return Table(columns)
    names = np.array([str(name) for name in result.group_names], dtype=object)
    columns["group"] = names[result.codes]
    for name, affinity in zip(names, result.affinities.T, strict=True):
        columns[f"affinity {name}"] = affinity
    if len(names) == 2:
        columns["witness"] = result.witness
    return Table(columns)


def _witness_table(parts: list[tuple[str, GraphDataset]], result: PopulationTest) -> Table:
    import numpy as np

    witness = result.node_witness()
    counts = np.concatenate([data.graphs.node_counts for _, data in parts])
    of_nodes = [node_columns(data.graphs) for _, data in parts]
    shared = [name for name in of_nodes[0] if all(name in own for own in of_nodes)]
    names = np.array([str(name) for name in result.group_names], dtype=object)
    graphs = np.concatenate([key_columns(data)["graph"] for _, data in parts])
    return Table(
        {
            "group": np.repeat(names[result.codes], counts),
            "graph": np.repeat(graphs, counts),
            **{name: np.concatenate([own[name] for own in of_nodes]) for name in shared},
            "witness": witness,
        }
    )


def _print_nodes(result: PopulationTest) -> None:
    import numpy as np

    if result.nodes is None:
        return
    table = result.nodes
    order = np.lexsort([-table.effect, table.corrected_p_value])[:_SHOWN]
    header = ["node", "effect", "p", "corrected p", *(f"strength {n}" for n in result.group_names)]
    rows = [
        [
            table.name(int(node)),
            f"{table.effect[node]:.3g}",
            f"{table.p_value[node]:.4g}",
            f"{table.corrected_p_value[node]:.4g}",
            *(f"{value:.4g}" for value in table.mean_strengths[node]),
        ]
        for node in order
    ]
    print_table(header, rows)
