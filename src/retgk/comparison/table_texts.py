"""A comparison as text for the terminal, as LaTeX, and as a page; text of users is escaped."""

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from retgk.comparison.comparison_rows import DONE, ComparisonRows
from retgk.comparison.time_picture import times_figure
from retgk.learning.metrics import Metric
from retgk.plot.figure_files import save_figure
from retgk.plot.html_pages import html_page

__all__ = [
    "NOT_ESTIMABLE",
    "caption",
    "cells",
    "header",
    "html_table",
    "html_text",
    "latex_table",
    "plain_text",
]

LEVEL = 0.05
"""Of p, above which a method is not told from the best."""

_BOLD = f"In bold: the best, and those that are not told from it (p above {LEVEL})."

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


def header(table: ComparisonRows) -> list[str]:
    """Names of the columns that people see."""
    names = [metric.name + (" %" if metric.is_share else "") for metric in table.metrics]
    return ["method", *names, "p", "s/fold", "peak MB"]


def cells(row: dict[str, Any], metrics: Sequence[Metric]) -> list[str]:
    """Texts of a row that people see; one that did not finish says why, after its name."""
    measured = [_number(row["seconds"], _seconds), _number(row["peak_mb"], "{:.0f}".format)]
    if row["status"] != DONE:
        return [row["method"], row["status"], *[""] * (len(metrics) - 1), "", *measured]
    scores = [_score(metric, row) for metric in metrics]
    return [row["method"], *scores, _number(row["p_value"], _p), *measured]


def _score(metric: Metric, row: dict[str, Any]) -> str:
    if row[metric.name] is None:
        return NOT_ESTIMABLE
    return f"{metric.text(row[metric.name])} ± {metric.text(row[f'{metric.name}_std'])}"


def _number(value: float | None, text: Callable[[float], str]) -> str:
    return "" if value is None else text(value)


def _seconds(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _p(value: float) -> str:
    if math.isnan(value):
        return NOT_ESTIMABLE
    return f"{value:.3f}" if value >= 0.001 else "<0.001"


def caption(table: ComparisonRows) -> str:
    """What the numbers are, in some sentences."""
    facts = table.facts
    repetitions = facts["repetitions"]
    times = "" if repetitions == 1 else f", {repetitions} times"
    first = table.metrics[0]
    better = "lower" if first.sign < 0 else "higher"
    return (
        f"{facts['graphs']:,} graphs, {facts['folds'][0]} folds{times}, the same for all methods; "
        "parameters are chosen on inner folds of the training graphs. Scores are means and "
        f"deviations over all folds, ranked by {first.name} ({better} is better); p is that of "
        f"the corrected resampled t-test (Nadeau and Bengio) against the first{_dash_note(table)}; "
        "s/fold is the median time to train and predict, peak MB the largest memory of the process."
    )


def _dash_note(table: ComparisonRows) -> str:
    """Why a p-value is a dash, if one is."""
    p_values = [row["p_value"] for row in table.rows if row["p_value"] is not None]
    if not any(map(math.isnan, p_values)):
        return ""
    return f" ({NOT_ESTIMABLE}: the differences do not vary, or are too few)"


# Terminal


def plain_text(table: ComparisonRows) -> str:
    """Table in columns of plain text."""
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


def latex_table(table: ComparisonRows) -> str:
    """Table with the package booktabs: the best in bold, those that are not told from it too."""
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
            texts = [texts[0], rf"\multicolumn{{{width}}}{{l}}{{{texts[1]}}}", *texts[-2:]]
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
    """Whether a method is the best one, or not told from it."""
    return row["status"] == DONE and (row["p_value"] is None or row["p_value"] > LEVEL)


# Pages


def html_table(table: ComparisonRows) -> str:
    """Table alone, as notebooks show it."""
    head = "".join(f"<th>{escape(name)}</th>" for name in header(table))
    body = "".join(_html_row(row, table.metrics) for row in table.rows)
    return f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'


def _html_row(row: dict[str, Any], metrics: Sequence[Metric]) -> str:
    texts = [escape(_one_line(text)) for text in cells(row, metrics)]
    if row["status"] != DONE:
        width = len(metrics) + 1
        rest = "".join(f"<td>{text}</td>" for text in texts[-2:])
        return (
            f'<tr><td>{texts[0]}</td><td class="stopped" colspan="{width}">{texts[1]}</td>'
            f"{rest}</tr>"
        )
    kind = ' class="best"' if _is_like_best(row) else ""
    first, score, *others = texts
    rest = "".join(f"<td>{text}</td>" for text in others)
    return f"<tr><td>{first}</td><td{kind}>{score}</td>{rest}</tr>"


def html_text(table: ComparisonRows) -> str:
    """Page with the table, the figure, and what every fold gave."""
    figure = times_figure(table)
    shown = f"{table.metrics[0].name} against the median time of a fold"
    picture = save_figure("comparison", shown, figure).html()
    parts = [
        html_table(table),
        f'<p class="note">{escape(caption(table))} {_BOLD}</p>',
        "<h2>Time and quality</h2>",
        picture,
        "<h2>Every fold</h2>",
        _fold_details(table),
    ]
    return html_page(f"Comparison of methods on {_one_line(table.name)}", _STYLE, parts)


def _fold_details(table: ComparisonRows) -> str:
    """Folds of every method, which open at a click."""
    return "".join(
        f"<details><summary>{escape(_one_line(row['method']))}</summary>"
        f"{_fold_table(table, row['method'])}</details>"
        for row in table.rows
    )


def _fold_table(table: ComparisonRows, method: str) -> str:
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
