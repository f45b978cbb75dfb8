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
    from collections.abc import Sequence

    from retgk.io.dataset import GraphDataset
    from retgk.stats.results import PairOfGroups, PopulationTest

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
EdgeOutput = Annotated[
    str | None,
    FileRole.WRITTEN,
    typer.Option(
        metavar="FILE",
        help="Table to write with a row for every edge, where nodes correspond: its statistic, "
        "p-values, mean weights and subnetwork.",
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
    subjects: Annotated[
        str | None,
        FileRole.READ,
        _test(
            metavar="COLUMN|FILE",
            help="Column or text file as for --groups: the subject of every graph. Labels are "
            "permuted within subjects that have graphs of several groups, or between subjects.",
        ),
    ] = None
    nodes_correspond: Annotated[
        bool,
        _test(
            "--nodes-correspond",
            help="Node i is the same in all graphs: compare edge with edge and node with node.",
        ),
    ] = False
    subnetwork_p: Annotated[
        float | None,
        _test(
            "--subnetwork-p",
            help="P-value of a single edge from which on edges make subnetworks; by the number of "
            "nodes, 0.01 at most.",
        ),
    ] = None
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
        settings = {
            "n_permutations": self.n_permutations,
            "confidence": self.confidence,
            "nodes_correspond": self.nodes_correspond,
            "subnetwork_p": self.subnetwork_p,
        }
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
        "retgk test patients.npy controls.npy --negative split --fisher-z --nodes-correspond",
        "retgk test before/ after/ --paired",
        "retgk test scans.npz --targets group.txt --groups site.txt --figure test.png",
        "retgk test scans/ --targets subjects.csv --target-column diagnosis --groups site",
        "retgk test scans/ --targets visits.csv --target-column visit --subjects subject",
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
    edges_output: EdgeOutput = None,
    figure: Figure = None,
) -> None:
    """
    Test whether populations of graphs differ, or whether graphs go with a value.

    Two sources are two populations. Of one source the targets say the group of every graph, two or
    more; targets with fractions are values. A table written with -o has a row for every graph, with
    how much it is like each group.
    """
    tables = {"--nodes-output": nodes_output, "--edges-output": edges_output}
    _check_outputs(output, tables, figure)
    own = {"--edges-output": edges_output, "--subnetwork-p": testing.subnetwork_p}
    _check_of_correspondence(own, testing)
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
    if edges_output is not None:
        write_table(_edge_table(result), edges_output, json=common.json)
    if output is not None and not common.json:
        report_output(table.shape, output, common, watch, p_value=result.p_value)
    if output != "-":
        _print_result(result, common, watch)
    if not common.json:
        for path in filter(None, (figure, *tables.values())):
            note(common, f"wrote {path}")


def _print_result(result: PopulationTest, common: Common, watch: Stopwatch) -> None:
    if common.json:
        pairs = {"pairwise": [pair.to_dict() for pair in _pairs_of(result)]}
        print_record({**result.to_dict(), **pairs, "seconds": watch.seconds})
        return
    print_lines(str(result))
    _print_pairs(result)
    _print_nodes(result)
    _print_edges(result)


def _check_of_correspondence(given: dict[str, Any], testing: Testing) -> None:
    for option, value in given.items():
        if value is not None and not testing.nodes_correspond:
            raise InvalidInputError(f"{option} is of --nodes-correspond; give that too")


def _check_outputs(output: str | None, tables: dict[str, str | None], figure: Path | None) -> None:
    for path in (output, *tables.values()):
        if path is not None:
            check_output(path, has_matrix=False)
    for option, path in tables.items():
        if path == "-":
            raise InvalidInputError(f"{option} writes a file; give a name instead of -")
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
    for option in ("groups", "subjects"):
        settings[option] = _values_of(getattr(testing, option), parts, reading, option)
    if len(parts) == 2:
        if testing.association:
            raise InvalidInputError("--association is for the targets of one source")
        first, second = (data for _, data in parts)
        result = two_sample_test(first, second, pairs=testing.paired, **settings)
        return replace(result, group_names=tuple(_names_of_parts(parts)))
    data = parts[0][1]
    targets = required_targets(data)
    if testing.association or _are_values(targets):
        if testing.paired:
            raise InvalidInputError("--paired is for groups, and the targets are values")
        return association_test(data, targets, **settings)
    if len(np.unique(targets)) == 2:
        return two_sample_test(data, by=targets, pairs=testing.paired, **settings)
    if testing.paired:
        raise InvalidInputError("--paired is for two groups; name subjects with --subjects")
    return k_sample_test(data, by=targets, **settings)


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


_MOST_GROUPS = 10  # of which pairs are tested without being asked for


def _pairs_of(result: PopulationTest) -> Sequence[PairOfGroups]:
    return result.pairwise if 2 < len(result.group_names) <= _MOST_GROUPS else ()


def _print_pairs(result: PopulationTest) -> None:
    pairs = [pair for pair in _pairs_of(result) if pair.test is not None]
    rows = [
        [
            f"{pair.first} - {pair.second}",
            f"{pair.test.effect.value:.3g}" if pair.test is not None else "",
            f"{pair.p_value:.4g}",
            f"{pair.corrected_p_value:.4g}",
        ]
        for pair in pairs
    ]
    if rows:
        print_table(["groups", "effect", "p", "corrected p"], rows)


def _groups_of_columns(result: PopulationTest) -> list[str]:
    return [f" {name}" for name in result.group_names] or [""]


def _print_nodes(result: PopulationTest) -> None:
    import numpy as np

    if result.nodes is None:
        return
    table = result.nodes
    order = np.lexsort([-table.effect, table.corrected_p_value])[:_SHOWN]
    strengths = [f"strength{name}" for name in _groups_of_columns(result)]
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
    print_table(["node", "effect", "p", "corrected p", *strengths], rows)


def _print_edges(result: PopulationTest) -> None:
    import numpy as np

    if result.edges is None:
        return
    table = result.edges
    order = np.lexsort([-np.abs(table.statistic), table.corrected_p_value])[:_SHOWN]
    weights = [f"weight{name}" for name in _groups_of_columns(result)]
    rows = [
        [
            "{}-{}".format(*table.ends[edge]),
            f"{table.statistic[edge]:.3g}",
            f"{table.p_value[edge]:.4g}",
            f"{table.corrected_p_value[edge]:.4g}",
            *(f"{value:.4g}" for value in table.mean_weights[edge]),
        ]
        for edge in order
    ]
    statistic = "F" if len(result.group_names) > 2 else "t"
    print_table(["edge", statistic, "p", "corrected p", *weights], rows)


def _edge_table(result: PopulationTest) -> Table:
    assert result.edges is not None  # nodes correspond
    table = result.edges
    weights = [f"weight{name}" for name in _groups_of_columns(result)]
    return Table(
        {
            "node": table.ends[:, 0],
            "other": table.ends[:, 1],
            "statistic": table.statistic,
            "p_value": table.p_value,
            "corrected_p_value": table.corrected_p_value,
            **dict(zip(weights, table.mean_weights.T, strict=True)),
            "subnetwork": table.subnetwork,
        }
    )
