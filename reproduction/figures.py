"""Figures 1 and 2 of the paper: the graph of the first, the curves of the second, and pictures."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import hypot, isnan
from typing import Any

import numpy as np

from reproduction.report_tables import Grid, grid_of_lines
from reproduction.tables import (
    CellSummary,
    RecordsByCell,
    figure_cells,
    read_settings,
    summary_of,
    table_cells,
)
from retgk.graphs.batch import GraphBatch
from retgk.plot import Picture, new_figure, save_figure

# Figure 1

N_STEPS = 200


class _GraphBuilder:
    def __init__(self) -> None:
        self.edges: list[tuple[int, int]] = []
        self.n_nodes = 0

    def add_node(self, *neighbours: int) -> int:
        self.edges += [(self.n_nodes, neighbour) for neighbour in neighbours]
        self.n_nodes += 1
        return self.n_nodes - 1

    def add_tree(self, children_per_level: Sequence[int]) -> tuple[int, list[int]]:
        """Add a centre with so many children per node at each distance; returns leaves too."""
        centre = self.add_node()
        level = [centre]
        for n_children in children_per_level:
            level = [self.add_node(parent) for parent in level for _ in range(n_children)]
        return centre, level


def toy_graph() -> tuple[GraphBatch, list[int]]:
    """
    A graph with three centres of equal degree, and these centres.

    The neighbours of C1, C2 and C3 have equal degrees too, so that the first two return
    probabilities agree. The surroundings of C1 and C2 agree up to distance three, so their return
    probabilities agree until the eighth step. The neighbours of C3 know each other: it leaves the
    others at the third step. (The paper shows its graph as a picture only; this one has the
    properties that the text states.)
    """
    builder = _GraphBuilder()
    first, first_ends = builder.add_tree([4, 3, 1, 1])
    second, second_ends = builder.add_tree([4, 3, 1, 1, 2])
    third = builder.add_node()
    ring = [builder.add_node(third) for _ in range(4)]
    for position, node in enumerate(ring):
        builder.edges.append((node, ring[position - 1]))
    outer = [builder.add_node(node) for node in ring]
    for ends in (first_ends, second_ends):
        builder.edges += list(zip(outer, ends[:: len(ends) // len(outer)], strict=True))
    graph = GraphBatch.from_edges(builder.n_nodes, builder.edges, symmetrize=True)
    return graph, [first, second, third]


def figure_1_picture() -> Picture:
    figure, axes = new_figure((5.5, 4.2))
    _draw_centres(axes)
    caption = (
        "Figure 1: return probabilities of three centres of equal degree in a toy graph. The paper "
        "shows its graph as a picture only; this one has the properties that the text states."
    )
    return save_figure("figure_1", caption, figure)


def _draw_centres(axes: Any) -> None:
    from retgk.plot import return_probability_curves

    names = ["$C_1$", "$C_2$", "$C_3$"]
    return_probability_curves(*toy_graph(), n_steps=N_STEPS, labels=names, ax=axes)
    close_up = axes.inset_axes([0.3, 0.35, 0.5, 0.6])
    return_probability_curves(*toy_graph(), n_steps=14, labels=names, ax=close_up)
    close_up.set(xlim=(4.5, 14.5), ylim=(0.025, 0.145), xlabel="", ylabel="")
    close_up.get_legend().remove()
    axes.indicate_inset_zoom(close_up)


# Figure 2

_PARAMETER_NAMES = {"S": "number of steps S", "D0": "width D0", "Dc": "width Dc"}
_AXIS_NAMES = {"S": "number of steps S", "D0": "width $D_0$", "Dc": "width $D_c$"}
_MARKERS = "osv^Dp"
_PLATEAU_POINTS = 1.0
_PLATEAU_DEVIATIONS = 2.0


@dataclass(frozen=True)
class Curve:
    dataset: str
    parameter: str
    values: list[int]
    accuracies: list[float]
    deviations: list[float]
    n_repetitions: list[int]
    paper_value: int
    """Value that the tables use."""

    def points_off(self) -> dict[int, float]:
        if self.paper_value not in self.values:
            return {}
        reference = self.accuracies[self.values.index(self.paper_value)]
        return {
            value: accuracy - reference
            for value, accuracy in zip(self.values, self.accuracies, strict=True)
        }

    def off_plateau(self) -> dict[int, float]:
        """Differences, of those in `points_off`, that are more than a point and more than noise."""
        spread = dict(zip(self.values, self.deviations, strict=True))
        return {
            value: points
            for value, points in self.points_off().items()
            if abs(points) > _largest_noise(spread[value], spread[self.paper_value])
        }


def _largest_noise(*deviations: float) -> float:
    """Points by which two accuracies may differ; one repetition alone has no deviation."""
    known = [0.0 if isnan(deviation) else deviation for deviation in deviations]
    return max(_PLATEAU_POINTS, _PLATEAU_DEVIATIONS * hypot(*known))


def figure_2_curves(records: RecordsByCell) -> list[Curve]:
    """Curves of figure 2, parameter by parameter and set by set."""
    points: dict[tuple[str, str], list[tuple[int, CellSummary]]] = {}
    for cell in figure_cells():
        found = summary_of(cell, records)
        parameter, _, value = cell.place.removeprefix("figure 2: ").partition("=")
        if found is not None and not found.failure:
            points.setdefault((parameter, cell.dataset), []).append((int(value), found))
    order = list(read_settings("figure_2")["values"])
    return [
        Curve(
            dataset,
            parameter,
            [value for value, _ in own],
            [each.accuracy for _, each in own],
            [each.deviation for _, each in own],
            [each.n_repetitions for _, each in own],
            _paper_value(dataset, parameter),
        )
        for (parameter, dataset), own in sorted(points.items(), key=lambda p: order.index(p[0][0]))
        if len(own) > 1
    ]


def _paper_value(dataset: str, parameter: str) -> int:
    table = read_settings("figure_2")["sets"][dataset]
    method = read_settings("figure_2")["method"]
    cell = next(
        cell for cell in table_cells(table) if cell.dataset == dataset and cell.method == method
    )
    if parameter == "S":
        return int(cell.settings["n_steps"])
    return int(cell.settings["n_components"][0 if parameter == "D0" else 1])


def figure_2_pictures(curves: Sequence[Curve]) -> list[Picture]:
    pictures = []
    for parameter in dict.fromkeys(curve.parameter for curve in curves):
        own = [curve for curve in curves if curve.parameter == parameter]
        name = _PARAMETER_NAMES[parameter]
        caption = (
            f"Figure 2: accuracy of RetGK_II against the {name}. Bands are one "
            "standard deviation over repetitions; rings mark the value of the tables."
        )
        pictures.append(save_figure(f"figure_2_{parameter}", caption, _draw_curves(own)))
    return pictures


def _draw_curves(curves: Sequence[Curve]) -> Any:
    figure, axes = new_figure((5, 4.6))
    order = list(read_settings("figure_2")["sets"])
    for curve in curves:
        number = order.index(curve.dataset)
        color = f"C{number}"
        middle = np.array(curve.accuracies)
        spread = np.nan_to_num(np.array(curve.deviations))
        axes.plot(
            curve.values,
            middle,
            marker=_MARKERS[number % len(_MARKERS)],
            markersize=4,
            color=color,
            label=curve.dataset,
        )
        axes.fill_between(
            curve.values, middle - spread, middle + spread, color=color, alpha=0.2, linewidth=0
        )
        _draw_ring(axes, curve, color)
    axes.set(xlabel=_AXIS_NAMES[curves[0].parameter], ylabel="accuracy in %")
    axes.grid(alpha=0.3)
    figure.legend(fontsize="small", loc="outside lower center", ncols=3, frameon=False)
    return figure


def _draw_ring(axes: Any, curve: Curve, color: str) -> None:
    if curve.paper_value in curve.values:
        accuracy = curve.accuracies[curve.values.index(curve.paper_value)]
        axes.plot(curve.paper_value, accuracy, "o", markersize=10, fillstyle="none", color=color)


def plateau_grid(curves: Iterable[Curve]) -> Grid:
    """Where the curves of figure 2 leave the accuracy of the tables' settings."""
    lines = []
    for curve in curves:
        outside = [
            f"{curve.parameter}={value}: {points:+.1f}"
            for value, points in curve.off_plateau().items()
        ]
        text = ", ".join(outside) or ("nowhere" if curve.points_off() else "not known yet")
        line = {
            "set": curve.dataset,
            "parameter": curve.parameter,
            "values": f"{min(curve.values)} to {max(curve.values)}",
            "in the tables": str(curve.paper_value),
            "not on the plateau, points off": text,
        }
        lines.append(line)
    note = (
        "On the plateau: within 1.0 point of the accuracy at the value of the tables, or, where "
        "that is more, within two standard deviations of the difference: 2 sqrt(a^2 + b^2) with a "
        "and b the deviations over repetitions at the two values."
    )
    return grid_of_lines("Figure 2: where accuracy leaves its plateau", lines, [note])
