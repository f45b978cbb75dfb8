"""Curves of figure 2, from records."""

from dataclasses import dataclass
from math import hypot, isnan

from retgk.paper.summaries import Measured, Records, measured
from retgk.paper.table_cells import figure_cells, read_settings, table_cells

__all__ = ["Curve", "curves"]

_PLATEAU_POINTS = 1.0
_PLATEAU_DEVIATIONS = 2.0


@dataclass(frozen=True)
class Curve:
    """Accuracies of one set while one parameter changes."""

    dataset: str
    parameter: str
    values: list[int]
    accuracies: list[float]
    deviations: list[float]
    n_repetitions: list[int]
    paper_value: int
    """Value that the tables use."""

    def points_off(self) -> dict[int, float]:
        """Difference, at every value, to the accuracy at the value of the tables."""
        if self.paper_value not in self.values:
            return {}
        reference = self.accuracies[self.values.index(self.paper_value)]
        return {
            value: accuracy - reference
            for value, accuracy in zip(self.values, self.accuracies, strict=True)
        }

    def off_plateau(self) -> dict[int, float]:
        """
        Differences, of those in `points_off`, that are more than a point and more than noise.

        Noise is two deviations of the difference, from the deviations at both of its values alone:
        a noisy value elsewhere excuses nothing.
        """
        spread = dict(zip(self.values, self.deviations, strict=True))
        return {
            value: points
            for value, points in self.points_off().items()
            if abs(points) > _allowed(spread[value], spread[self.paper_value])
        }


def _allowed(*deviations: float) -> float:
    """Points that two accuracies may differ by; one repetition alone has no deviation."""
    known = [0.0 if isnan(deviation) else deviation for deviation in deviations]
    return max(_PLATEAU_POINTS, _PLATEAU_DEVIATIONS * hypot(*known))


def curves(records: Records) -> list[Curve]:
    """
    Curves of figure 2, as far as there are records; one value alone makes none.

    Parameters
    ----------
    records : mapping
        From `by_cell`.

    Returns
    -------
    list of Curve
        Parameter by parameter and set by set.
    """
    points: dict[tuple[str, str], list[tuple[int, Measured]]] = {}
    for cell in figure_cells(2):
        found = measured(cell, records)
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
    """Value of a parameter of figure 2 in the table that a set is taken from."""
    table = read_settings("figure_2")["sets"][dataset]
    method = read_settings("figure_2")["method"]
    cell = next(
        cell for cell in table_cells(table) if cell.dataset == dataset and cell.method == method
    )
    if parameter == "S":
        return int(cell.settings["n_steps"])
    return int(cell.settings["n_components"][0 if parameter == "D0" else 1])
