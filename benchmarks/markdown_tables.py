"""Tables in Markdown, and what stands under them."""

import itertools


def table(header, rows):
    """A table in Markdown, without columns that are empty in all rows."""
    kept = [any(row[k] != "" for row in rows) for k in range(len(header))]
    header, *rows = [list(itertools.compress(line, kept)) for line in (header, *rows)]
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def run_line(record):
    run = record["run"]
    numba = f"numba {run['numba']}, " if "numba" in run else ""  # what early records depend on
    return (
        f"{run['cores']} cores of {run['cpu']}, Python {run['python']}, NumPy {run['numpy']}, "
        f"{numba}{run['date']}."
    )


def seconds(value):
    return "" if value is None else f"{value:.3g} s"
