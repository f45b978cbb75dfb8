"""The table of a comparison: a row for each method, the best first."""

import csv
import io
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retgk.comparison.comparison_plan import ComparisonPlan, Place
from retgk.comparison.comparison_rows import ComparisonRows, fold_rows, method_rows
from retgk.comparison.table_texts import html_table, html_text, latex_table, plain_text
from retgk.comparison.time_picture import draw_times, times_figure
from retgk.errors import InvalidInputError
from retgk.runtime.record_files import Record
from retgk.runtime.storage import atomic_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Comparison", "checked_ending", "comparison_of"]

_NOT_A_TEXT = (".png", ".svg", ".pdf")
_ENDINGS = (".csv", ".tex", ".html", *_NOT_A_TEXT)


@dataclass(frozen=True, repr=False)
class Comparison(ComparisonRows):
    """
    What a comparison of methods found.

    Attributes
    ----------
    name : str
        Of the collection.
    rows : list of dict
        One for each method, the best first, those that did not finish last: "method", "status"
        ("done", or what stopped it), "folds" (how many are done), for each metric its mean under
        its name and its deviation over folds under "NAME_std", "p_value" (corrected resampled
        t-test against the best one, None for that itself, NaN where differences do not vary or
        are too few; that is a dash in tables), "seconds" (median of a fold, training and
        predicting), and "peak_mb" (largest memory of its process, None on systems that do not
        tell it).
    folds : list of dict
        Every finished fold of every method: "method", "repetition", "fold", all metrics,
        "seconds", "peak_mb", and "chosen", the parameters that it chose.
    metrics : tuple of Metric
        What is shown; methods are ranked by the first.
    facts : dict
        "graphs", "task", "repetitions", "folds" (in each of them), "seed" and more.

    Examples
    --------
    >>> from retgk import compare, make_graph_classification
    >>> data = make_graph_classification(n_graphs=30, random_state=0)
    >>> table = compare(data, methods=["majority"], folds=3)
    >>> table.to_csv().splitlines()[0][:29]
    'method,status,folds,accuracy,'
    """

    def __repr__(self) -> str:
        return plain_text(self)

    def _repr_html_(self) -> str:
        return html_table(self)

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """Rows as CSV, in full precision; also written to a file if one is given."""
        text = io.StringIO()
        writer = csv.DictWriter(text, list(self.rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        return _written(text.getvalue(), path)

    def to_latex(self, path: str | os.PathLike[str] | None = None) -> str:
        """Table for LaTeX with the package booktabs; also written to a file if one is given."""
        return _written(latex_table(self), path)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """One page that needs nothing else; also written to a file if one is given."""
        return _written(html_text(self), path)

    def to_pandas(self) -> Any:
        """Rows as a DataFrame of pandas, which has to be installed."""
        import pandas as pd

        return pd.DataFrame(self.rows)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the first metric against seconds; returns the axes."""
        return draw_times(self, ax)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file in the form that its name ends in: .csv, .tex, .html, or a picture."""
        ending = checked_ending(path)
        if ending in _NOT_A_TEXT:
            with atomic_path(Path(path)) as part:
                times_figure(self).savefig(part, format=ending[1:], dpi=150)
        else:
            {".csv": self.to_csv, ".tex": self.to_latex, ".html": self.to_html}[ending](path)


def checked_ending(path: str | os.PathLike[str]) -> str:
    """Ending of a name that says what to write, or an error."""
    ending = Path(path).suffix.lower()
    if ending not in _ENDINGS:
        raise InvalidInputError(
            f"cannot tell from {str(path)!r} what to write; end the name in one of "
            f"{', '.join(_ENDINGS)}"
        )
    return ending


def _written(text: str, path: str | os.PathLike[str] | None) -> str:
    if path is not None:
        with atomic_path(Path(path)) as part:
            part.write_text(text, encoding="utf-8")
    return text


def comparison_of(
    plan: ComparisonPlan,
    finished: Mapping[str, Mapping[Place, Record]],
    failures: Mapping[str, Record | None],
) -> Comparison:
    """Table of what methods have done, and of what stopped them."""
    rows = method_rows(plan, finished, failures)
    return Comparison(plan.name, rows, fold_rows(finished), plan.metrics, plan.as_record())
