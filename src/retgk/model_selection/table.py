"""The table of a comparison: a row for each method, the best first."""

import csv
import io
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from retgk._runtime.files import Record, atomic_path
from retgk._runtime.html_page import html_page
from retgk.array_types import Floats
from retgk.errors import InvalidInputError
from retgk.learning.metrics import Metric
from retgk.learning.selection import fold_mean
from retgk.model_selection.runs import ComparisonPlan, Place
from retgk.plot import MANY_COLOURS, axes_or_new, new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Whether two methods differ over the folds of repeated cross-validation.

_ROUNDING = 1e-9  # of equal differences: 0.9 - 0.85 and 0.8 - 0.75 are not the same number


class TTest(NamedTuple):
    statistic: float
    p_value: float


def corrected_t_test(differences: ArrayLike, n_train: float, n_test: float) -> TTest:
    r"""
    Corrected resampled t-test (Nadeau and Bengio, 2003), two-sided.

    .. math:: t = \frac{\bar d}{\sqrt{(1/J + n_{test} / n_{train})\, s^2}}

    with :math:`s^2` the variance of the J differences, and J - 1 degrees of freedom. The training
    parts of folds overlap, so that differences are not independent; the plain t-test, with 1/J
    alone, takes chance for a difference far too often.

    Both are NaN, as there is no estimate of the variance, with fewer than two differences, or with
    some that are all the same and not zero: scores such as accuracy take few values, so that two or
    three folds may well differ by the same. If all are zero, the p-value is 1.
    """
    from scipy.stats import t as student

    found = np.asarray(differences, np.float64)
    if len(found) < 2:
        return TTest(np.nan, np.nan)
    mean, variance = float(found.mean()), float(found.var(ddof=1))
    if np.ptp(found) <= _ROUNDING * np.abs(found).max():
        return TTest(np.nan, np.nan) if mean else TTest(0.0, 1.0)
    statistic = mean / np.sqrt((1 / len(found) + n_test / n_train) * variance)
    return TTest(float(statistic), float(2 * student.sf(abs(statistic), len(found) - 1)))


# Rows of a comparison, from the records of folds.

DONE = "done"
"""Status of a method that finished all folds."""


_PICTURES = (".png", ".svg", ".pdf")
_ENDINGS = (".csv", ".tex", ".html", *_PICTURES)


@dataclass(frozen=True, repr=False)
class Comparison:
    """
    What a comparison of methods found.

    Attributes
    ----------
    name : str
        Of the collection.
    rows : list of dict
        One for each method, the best first, those that did not finish last: "method", "status"
        ("done", or what stopped it), "folds" (how many are done), for each metric its mean under
        its name and its standard error over folds under "NAME_se" (None of one fold), "p_value"
        (corrected resampled t-test against the best one, None for that itself, NaN where
        differences do not vary or are too few; that is a dash in tables), "seconds" and "processor"
        (medians of a fold, training and predicting: on the clock, and of all processors), "ratio"
        (of processor seconds to those of "morgan", or of the best method), and "peak_mb" (largest
        memory of its process, None on systems that do not tell it).
    folds : list of dict
        Every finished fold of every method: "method", "repetition", "fold", all metrics,
        "seconds", "processor", "peak_mb", and "chosen", the parameters that it chose.
    metrics : tuple of Metric
        What is shown; methods are ranked by the first.
    facts : dict
        "graphs", "task", "repetitions", "folds" (in each of them), "seed" and more.

    Examples
    --------
    >>> from retgk import compare
    >>> from retgk.datasets import make_graph_classification
    >>> data = make_graph_classification(n_graphs=30, rng=0)
    >>> table = compare(data, methods=["majority"], folds=3)
    >>> table.to_csv().splitlines()[0][:29]
    'method,status,folds,accuracy,'
    """

    name: str
    rows: list[dict[str, Any]]
    folds: list[dict[str, Any]]
    metrics: tuple[Metric, ...]
    facts: dict[str, Any]

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
        if ending in _PICTURES:
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
    first = plan.metrics[0]
    values = {
        name: _fold_values(plan, records, first.name)
        for name, records in finished.items()
        if len(records) == len(plan.places)
    }
    means = {name: first.sign * fold_mean(own) for name, own in values.items()}
    ranked = sorted(means, key=lambda name: (np.isnan(means[name]), -means[name]))
    rows = []
    for name in [*ranked, *(name for name in finished if name not in means)]:
        status, p_value = DONE, None
        if name not in means:
            failure = failures[name]
            status = failure["failure"] if failure is not None else "is not finished"
        elif name != ranked[0]:
            p_value = _p_value(plan, values[ranked[0]] - values[name])
        rows.append(_row(plan, name, finished[name], status, p_value))
    base = _base_of_ratios(rows)
    for row in rows:
        if base is not None and base["processor"] and row["processor"] is not None:
            row["ratio"] = row["processor"] / base["processor"]
    folds = [
        {
            "method": name,
            **{each: record[each] for each in ("repetition", "fold")},
            **record["scores"],
            **{each: record[each] for each in (*_MEASURED, "peak_mb", "chosen")},
        }
        for name in finished
        for record in finished[name].values()
    ]
    return Comparison(plan.name, rows, folds, plan.metrics, plan.as_record())


_MEASURED = ("seconds", "processor")
_BASE = "morgan"
"""Method whose processor seconds are the unit where it is compared: what people would take."""


def _base_of_ratios(rows: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    done = [row for row in rows if row["status"] == DONE]
    return next((row for row in done if row["method"] == _BASE), done[0] if done else None)


def _standard_error(values: Floats) -> float | None:
    """Of the mean over folds."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None


def _fold_values(plan: ComparisonPlan, records: Mapping[Place, Record], metric: str) -> Floats:
    found = [records[place]["scores"][metric] for place in plan.places if place in records]
    return np.array([np.nan if value is None else value for value in found], np.float64)


def _row(
    plan: ComparisonPlan,
    name: str,
    records: Mapping[Place, Record],
    status: str,
    p_value: float | None,
) -> dict[str, Any]:
    row: dict[str, Any] = {"method": name, "status": status, "folds": len(records)}
    for metric in plan.metrics:
        values = _fold_values(plan, records, metric.name)
        known = values[~np.isnan(values)]
        is_shown = status == DONE and len(known) > 0
        row[metric.name] = float(known.mean()) if is_shown else None
        row[f"{metric.name}_se"] = _standard_error(known) if is_shown else None
    peaks = [own["peak_mb"] for own in records.values() if own["peak_mb"] is not None]
    row["p_value"] = p_value
    for what in _MEASURED:
        each = [record[what] for record in records.values()]
        row[what] = float(np.median(each)) if each else None
    row["ratio"] = None
    row["peak_mb"] = max(peaks, default=None)
    return row


def _p_value(plan: ComparisonPlan, differences: Floats) -> float:
    folds = [plan.fold(place) for place in plan.places]
    n_train, n_test = (
        float(np.mean([len(getattr(fold, part)) for fold in folds])) for part in ("train", "test")
    )
    return corrected_t_test(differences[~np.isnan(differences)], n_train, n_test).p_value


# The figure of a comparison: quality against time.

_MARKERS = "osD^vPX<>*"
_SIZE = (6.4, 3.8)
_LONGEST_LABEL = 24
_LEAST_SECONDS = 1e-3  # a logarithm needs something to begin with


def draw_times(table: Comparison, ax: "Axes | None" = None) -> "Axes":
    """Draw the first metric of every finished method against the seconds of a fold."""
    ax = axes_or_new(ax, _SIZE)
    metric = table.metrics[0]
    factor = 100.0 if metric.is_share else 1.0
    shown = [row for row in table.rows if row["status"] == DONE and row[metric.name] is not None]
    for place, row in enumerate(shown):
        ax.errorbar(
            max(row["seconds"], _LEAST_SECONDS),
            factor * row[metric.name],
            yerr=factor * (row[f"{metric.name}_se"] or 0.0),
            marker=_MARKERS[place % len(_MARKERS)],
            color=MANY_COLOURS[place % len(MANY_COLOURS)],
            markersize=7,
            linestyle="none",
            elinewidth=1,
            capsize=2,
            label=_plain_label(row["method"]),
        )
    ax.set_xscale("log")
    ax.set(
        xlabel="seconds of a fold (median)",
        ylabel=f"{metric.name}{' (%)' if metric.is_share else ''}",
    )
    ax.grid(alpha=0.3, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    if shown:
        ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax


def _plain_label(name: str) -> str:
    """Name that matplotlib shows as it is, not as a formula; what is too long is cut."""
    text = "".join(letter if letter.isprintable() else " " for letter in name)
    text = text if len(text) <= _LONGEST_LABEL else f"{text[: _LONGEST_LABEL - 2]}.."
    return " " + text.replace("$", r"\$")  # one that begins with an underscore is not shown at all


def times_figure(table: Comparison) -> Any:
    figure, ax = new_figure(_SIZE)
    draw_times(table, ax)
    return figure


# A comparison as text for the terminal, as LaTeX, and as a page; text of users is escaped.

LEVEL = 0.05
"""Of p, above which a method does not differ significantly from the best."""

_BOLD = f"In bold: the best, and what does not differ from it significantly (p above {LEVEL})."

NOT_ESTIMABLE = "-"
"""In place of a number that cannot be found; the best method, which is not tested, has none."""

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
  color: #1a1a1a; background: #fff; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; } h2 { font-size: 1.1rem; margin-top: 1.5rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; } caption { text-align: left; color: #555; }
th, td { padding: .2rem .8rem .2rem 0; text-align: right; white-space: nowrap;
  font-variant-numeric: tabular-nums; }
th { border-bottom: 1px solid #888; } td { border-bottom: 1px solid #e5e5e5; }
th:first-child, td:first-child { text-align: left; }
.best { font-weight: 600; } .stopped { color: #a33; white-space: normal; text-align: left; }
.note { color: #555; } figure { margin: 1rem 0; } img { max-width: 100%; height: auto; }
figcaption { color: #555; }
"""

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "±": r"$\pm$",
}


# Cells


def header(table: Comparison) -> list[str]:
    names = [metric.name + (" %" if metric.is_share else "") for metric in table.metrics]
    return ["method", *names, "p", "s/fold", "CPU s", "ratio", "peak MB"]


def cells(row: dict[str, Any], metrics: Sequence[Metric]) -> list[str]:
    measured = [
        *(_number(row[name], _seconds) for name in (*_MEASURED, "ratio")),
        _number(row["peak_mb"], "{:.0f}".format),
    ]
    if row["status"] != DONE:
        return [row["method"], row["status"], *[""] * (len(metrics) - 1), "", *measured]
    scores = [_score(metric, row) for metric in metrics]
    return [row["method"], *scores, _number(row["p_value"], _p), *measured]


def _score(metric: Metric, row: dict[str, Any]) -> str:
    if row[metric.name] is None:
        return NOT_ESTIMABLE
    error = row[f"{metric.name}_se"]
    return metric.text(row[metric.name]) + (f" ± {metric.text(error)}" if error is not None else "")


def _number(value: float | None, text: Callable[[float], str]) -> str:
    return "" if value is None else text(value)


def _seconds(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _p(value: float) -> str:
    if math.isnan(value):
        return NOT_ESTIMABLE
    return f"{value:.3f}" if value >= 0.001 else "<0.001"


def caption(table: Comparison) -> str:
    facts = table.facts
    repetitions = facts["repetitions"]
    times = "" if repetitions == 1 else f", {repetitions} times"
    first = table.metrics[0]
    better = "lower" if first.sign < 0 else "higher"
    return (
        f"{facts['graphs']:,} graphs, {facts['folds'][0]} folds{times}, the same for all methods; "
        "parameters are chosen on inner folds of the training graphs. Scores are means and "
        f"standard errors over all folds, ranked by {first.name} ({better} is better); p is that "
        f"of the corrected resampled t-test (Nadeau and Bengio) against the first"
        f"{_dash_note(table)}; s/fold is the median time to train and predict, CPU s that of all "
        f"processors{_ratio_note(table)}, peak MB the largest memory of the process."
        f"{_trees_note(table)}"
    )


def _dash_note(table: Comparison) -> str:
    p_values = [row["p_value"] for row in table.rows if row["p_value"] is not None]
    if not any(map(math.isnan, p_values)):
        return ""
    return f" ({NOT_ESTIMABLE}: the differences do not vary, or are too few)"


def _ratio_note(table: Comparison) -> str:
    base = _base_of_ratios(table.rows)
    if base is None:
        return ""
    return f", ratio that to the one of {_BASE if base['method'] == _BASE else 'the first'}"


def _trees_note(table: Comparison) -> str:
    """Which library grew the trees of a method that takes what is installed."""
    libraries = {"sklearn": "scikit-learn", "lightgbm": "LightGBM"}
    found = [fold["chosen"].get("trees") for fold in table.folds if fold["method"] == _BASE]
    library = libraries.get(found[0]) if found else None
    return f" The trees of {_BASE} are by {library}." if library else ""


# Terminal


def plain_text(table: Comparison) -> str:
    rows = [cells(row, table.metrics) for row in table.rows]
    done = [cell for cell, row in zip(rows, table.rows, strict=True) if row["status"] == DONE]
    widths = [max(map(len, column)) for column in zip(header(table), *done, strict=True)]
    widths[0] = max(len(row[0]) for row in [header(table), *rows])
    lines = [_aligned(header(table), widths)]
    for row, own in zip(table.rows, rows, strict=True):
        is_done = row["status"] == DONE
        # what stopped a method may be as long as it is
        lines.append(_aligned(own, widths) if is_done else f"{own[0]:{widths[0]}}  {own[1]}")
    return "\n".join([f"{table.name}: {table.facts['graphs']:,} graphs", *lines])


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = row
    texts = [f"{text:>{width}}" for text, width in zip(others, widths[1:], strict=True)]
    return "  ".join([f"{first:{widths[0]}}", *texts]).rstrip()


# LaTeX


def latex_table(table: Comparison) -> str:
    n_columns = len(header(table))
    lines = [
        f"% {_one_line(table.name)}. {caption(table)} {_BOLD}",
        rf"\begin{{tabular}}{{l{'r' * (n_columns - 1)}}}",
        r"\toprule",
        " & ".join(map(_latex, header(table))) + r" \\",
        r"\midrule",
    ]
    for row in table.rows:
        texts = [_latex(text) for text in cells(row, table.metrics)]
        if row["status"] != DONE:
            width = len(table.metrics) + 1
            texts = [texts[0], rf"\multicolumn{{{width}}}{{l}}{{{texts[1]}}}", *texts[-4:]]
        elif _is_like_best(row):
            texts[1] = rf"\textbf{{{texts[1]}}}"
        lines.append(" & ".join(texts) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _latex(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in _one_line(text))


def _one_line(text: str) -> str:
    """Text without control characters, which would end a comment or a row."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _is_like_best(row: dict[str, Any]) -> bool:
    return row["status"] == DONE and (row["p_value"] is None or row["p_value"] > LEVEL)


# Pages


def html_table(table: Comparison) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in header(table))
    body = "".join(_html_row(row, table.metrics) for row in table.rows)
    return f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'


def _html_row(row: dict[str, Any], metrics: Sequence[Metric]) -> str:
    texts = [escape(_one_line(text)) for text in cells(row, metrics)]
    if row["status"] != DONE:
        width = len(metrics) + 1
        rest = "".join(f"<td>{text}</td>" for text in texts[-4:])
        return (
            f'<tr><td>{texts[0]}</td><td class="stopped" colspan="{width}">{texts[1]}</td>'
            f"{rest}</tr>"
        )
    kind = ' class="best"' if _is_like_best(row) else ""
    first, score, *others = texts
    rest = "".join(f"<td>{text}</td>" for text in others)
    return f"<tr><td>{first}</td><td{kind}>{score}</td>{rest}</tr>"


def html_text(table: Comparison) -> str:
    figure = times_figure(table)
    shown = f"{table.metrics[0].name} against the median time of a fold"
    picture = save_figure("comparison", shown, figure).html()
    title = f"Comparison of methods on {_one_line(table.name)}"
    parts = [
        f"<h1>{escape(title)}</h1>",
        html_table(table),
        f'<p class="note">{escape(caption(table))} {_BOLD}</p>',
        "<h2>Time and quality</h2>",
        picture,
        "<h2>Every fold</h2>",
        *(
            f"<details><summary>{escape(_one_line(row['method']))}</summary>"
            f"{_fold_table(table, row['method'])}</details>"
            for row in table.rows
        ),
    ]
    return html_page(title, _STYLE, parts)


def _fold_table(table: Comparison, method: str) -> str:
    names = [metric.name for metric in table.metrics]
    head = "".join(f"<th>{escape(n)}</th>" for n in ("fold", *names, "s", "chosen"))
    body = []
    for fold in table.folds:
        if fold["method"] == method:
            chosen = ", ".join(f"{name}={value}" for name, value in fold["chosen"].items())
            place = f"{fold['repetition']}.{fold['fold']}"
            values = [
                NOT_ESTIMABLE if fold[name] is None else f"{fold[name]:.4f}" for name in names
            ]
            texts = [place, *values, f"{fold['seconds']:.3g}", _one_line(chosen)]
            body.append("".join(f"<td>{escape(text)}</td>" for text in texts))
    rows = "".join(f"<tr>{row}</tr>" for row in body)
    return f'<div class="scroll"><table><tr>{head}</tr>{rows}</table></div>'
