"""Write the tables of the documentation, and the README's list of numbers, from the stored records.

python -m benchmarks.report [--check]
"""

import argparse
import itertools
import re
import sys
from functools import partial
from pathlib import Path

from benchmarks.bench_retgk2 import LIMIT as RETGK2_LIMIT
from benchmarks.guide_tables import exact_or_vectors, fit_memory
from benchmarks.highlights import highlights
from benchmarks.molecule_sets import SETS as MOLECULE_SETS
from benchmarks.population_tables import PARTS as POPULATION_PARTS
from benchmarks.records import FOLDER, read_records
from retgk.paper.records import read_records as read_paper_records
from retgk.paper.report_tables import agreement
from retgk.paper.report_text import open_sentence
from retgk.paper.report_times import BESIDE, total_times
from retgk.paper.table_cells import TABLES as PAPER_TABLES
from retgk.paper.table_results import records_by_cell, table_rows

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    *(
        ROOT / "docs" / f"{name}.md"
        for name in (
            "benchmarks",
            "similarity_search",
            "guide/exact_or_vectors",
            "guide/performance",
        )
    ),
]
PAPER_RECORDS = ROOT / "docs" / "paper" / "records.jsonl.gz"
PAPER_BASELINE = ROOT / "benchmarks" / "records" / "paper.jsonl"


def table(header, rows):
    """A table in Markdown, without columns that are empty in all rows."""
    kept = [any(row[k] != "" for row in rows) for k in range(len(header))]
    header, *rows = [list(itertools.compress(line, kept)) for line in (header, *rows)]
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def run_line(record):
    run = record["run"]
    return (
        f"{run['cores']} cores of {run['cpu']}, Python {run['python']}, NumPy {run['numpy']}, "
        f"numba {run['numba']}, {run['date']}."
    )


def seconds(value):
    return "" if value is None else f"{value:.3g} s"


def rpf_table():
    """Times are for the sample; the last columns for the whole set."""
    records = read_records("rpf")
    rows = [
        [
            r["set"],
            f"{r['sample_graphs']:,} of {r['graphs']:,}",
            seconds(r["published"]),
            seconds(r["published_processes"]),
            seconds(r["pyg"]),
            seconds(r["ours_one_thread"]),
            seconds(r["ours"]),
            f"**{r['published_best'] / r['ours']:.1f}x**",
            f"{r['error']:.0e}",
            seconds(r["ours_whole_set"]),
            f"{r['published_whole_set'] / r['ours_whole_set']:.0f}x",
            f"{r['peak_beyond_output_mb']:.0f} MB",
        ]
        for r in records
    ]
    header = [
        "set", "graphs compared", "published, NumPy", "published, a process per core", "PyG",
        "retgk, one thread", "retgk", "ratio", "largest difference", "retgk, whole set",
        "ratio, extrapolated",
        "memory beyond the result",
    ]  # fmt: skip
    return table(header, rows) + "\n\n" + run_line(records[0])


def retgk1_table():
    """Times from node features to inner products; the published method is extrapolated."""
    records = read_records("retgk1")
    rows = [
        [
            r["set"],
            r["uses"] or "structure",
            f"{r['nodes']:,}",
            f"{r['distinct']:,}",
            seconds(r["published_extrapolated"]),
            seconds(r["ours_one_thread"]),
            seconds(r["ours"]),
            f"**{r['ratio']:.0f}x**",
            f"{r['cpu_ratio']:.0f}x",
            f"{r['values_per_second'] / r['peak_values_per_second']:.0%}",
            f"{r['error']:.0e}",
        ]
        for r in records
    ]
    header = [
        "set", "uses", "nodes", "distinct", "published, extrapolated", "retgk, one thread", "retgk",
        "ratio", "ratio of CPU time", "of the in-cache rate", "largest error seen",
    ]  # fmt: skip
    return table(header, rows) + f"\n\ntol={records[0]['tol']:g}. " + run_line(records[0])


def tolerance_table():
    """One row a setting, one column a tolerance: error, and changed predictions."""
    records = read_records("tolerance")
    tolerances = sorted({r["tol"] for r in records})
    cells = {
        (r["setting"], r["tol"]): f"{r['largest_error']:.0e}, {r['changed_predictions']}"
        for r in records
    }
    counts = {r["setting"]: r["predictions"] for r in records}
    rows = [
        [setting, f"{count:,}", *(cells.get((setting, tol), "") for tol in tolerances)]
        for setting, count in counts.items()
    ]
    header = ["setting", "predictions", *(f"tol={tol:g}: error, changed" for tol in tolerances)]
    return table(header, rows) + "\n\n" + run_line(records[0])


def retgk2_table():
    """One row a set; time and accuracy of every method, and the ratios to ours."""
    records = read_records("retgk2")
    methods = list(dict.fromkeys(r["method"] for r in records))
    found = {(r["set"], r["method"]): r for r in records}

    def cell(name, method):
        record = found.get((name, method))
        if record is None:
            return "not run"
        if record["seconds"] is None:
            return f"not in {RETGK2_LIMIT} s"
        accuracy = f", {record['accuracy']:.1f} %" if "accuracy" in record else ""
        return seconds(record["seconds"]) + accuracy

    names = list(dict.fromkeys(r["set"] for r in records))
    rows = [[name, *(cell(name, method) for method in methods)] for name in names]
    return table(["set", *methods], rows) + "\n\n" + run_line(records[0])


def joint_table():
    records = read_records("joint")
    rows = [
        [r["set"], r["map"], f"{r['features']:,}", f"{r['accuracy']:.1f} ({r['deviation']:.1f})"]
        for r in records
    ]
    header = ["set", "feature map", "features", "accuracy in % (deviation over repetitions)"]
    return table(header, rows) + "\n\n" + run_line(records[0])


def phases_table():
    """One row a set, one column a map and width: accuracy, and time from graphs to kernel."""
    records = read_records("phases")
    found = {(r["set"], r["map"], r["n_components"]): r for r in records}
    maps = list(dict.fromkeys((r["map"], r["n_components"]) for r in records))
    rows = []
    for name in dict.fromkeys(r["set"] for r in records):
        own = [found.get((name, *each)) for each in maps]
        cells = [
            ""
            if r is None
            else f"{r['accuracy']:.1f} ({r['deviation']:.1f}), {seconds(r['seconds'])}"
            for r in own
        ]
        rows.append([name, f"{found[name, 'joint', 200]['columns']:,}", *cells])
    header = ["set", "columns of 200 a label", *(f"{kind}, {width:,}" for kind, width in maps)]
    return table(header, rows) + "\n\n" + run_line(records[0])


def refinement_table():
    """Refined labels beside GraKeL, the memory that they take, and what depth costs."""
    records = read_records("refinement")
    rows = []
    for r in records:
        if r["what"] == "refinement":
            ratio = f"{r['grakel_seconds'] / r['seconds']:.0f}x"
            what = "colours to depth 5 against GraKeL's WL"
            rows.append(
                [r["set"], what, seconds(r["seconds"]), seconds(r["grakel_seconds"]), ratio]
            )
        elif r["what"] == "memory":
            what = f"peak memory, {r['colours']:,} colours, graphs included"
            rows.append([r["set"], what, f"{r['peak_megabytes']:,} MB", "", ""])
        else:
            what = "exact kernel at depth 3 against depth 0"
            times = [seconds(r["depth_3_seconds"]), seconds(r["seconds"])]
            rows.append([r["set"], what, *times, f"{r['ratio']:.2f}x"])
    return table(["set", "what", "ours", "against", "ratio"], rows) + "\n\n" + run_line(records[0])


def peers_table():
    """Native kernels of other authors beside GraKeL's, on large sets, and their growth."""
    records = read_records("peers")
    rows = []
    for r in records:
        own = [r["set"], r["kernel"]]
        if r["what"] == "grakel" and r["grakel_seconds"] is None:
            rows.append([*own, seconds(r["seconds"]), f"over {r['cap']:.0f} s", "", ""])
        elif r["what"] == "grakel":
            ratio = f"{r['grakel_seconds'] / r['seconds']:.0f}x"
            gap = "" if r["difference"] is None else f"{r['difference']:.0e}"
            rows.append([*own, seconds(r["seconds"]), seconds(r["grakel_seconds"]), ratio, gap])
    header = ["set", "kernel", "retgk", "GraKeL", "ratio", "largest difference"]
    large = [
        [
            r["set"],
            r["kernel"],
            f"{r['n_graphs']:,}",
            seconds(r["seconds"]),
            f"{r['peak_megabytes']:,} MB",
        ]
        for r in records
        if r["what"] == "large"
    ]
    growth = [
        [r["set"], r["kernel"], ", ".join(map(seconds, r["seconds"])), f"n^{r['exponent']:.1f}"]
        for r in records
        if r["what"] == "growth"
    ]
    parts = [
        table(header, rows),
        table(["set", "kernel", "graphs", "retgk", "peak memory"], large),
        table(["set", "kernel", "an eighth, a quarter, half, all", "grows as"], growth),
    ]
    return "\n\n".join([*parts, run_line(records[0])])


def scaling_table():
    records = read_records("scaling")
    rows = [
        [
            f"{r['graphs']:,}",
            seconds(r["parse_seconds"]),
            seconds(r["embed_seconds"]),
            f"{r['graphs'] / r['embed_seconds']:,.0f}",
            f"{r['peak_mb']:.0f} MB",
        ]
        for r in records
    ]
    header = ["molecules", "RDKit's parser", "embedding", "embedded a second", "peak memory"]
    return table(header, rows) + "\n\n" + run_line(records[0])


def stream_table():
    records = read_records("stream")
    rows = [
        [
            f"{r['graphs']:,}",
            seconds(r["seconds"]),
            seconds(r["cpu_seconds"]),
            f"{r['peak_mb']:.0f} MB",
            f"{r['peaks_mb'][0]:.0f}, {r['peaks_mb'][-1]:.0f} MB",
            f"{r['saved_gb']:.1f} GB",
            f"{r['load_before']:.0f}, {r['load_after']:.0f}",
        ]
        for r in records
    ]
    header = ["molecules", "clock", "CPU time", "peak", "first, last 50,000", "saved", "load"]
    return table(header, rows) + "\n\n" + run_line(records[0])


def large_graph_table():
    records = read_records("large_graph")
    rows = [
        [
            r["graph"],
            f"{r['nodes']:,}",
            f"{r['edge_array_mb']:.0f} MB",
            f"{seconds(r['read_seconds'])}, {r['read_peak_mb']:.0f} MB",
            seconds(r["seconds"]),
            seconds(r["seconds_with_errors"]),
            f"{r['peak_mb']:.0f} MB",
            f"{r['norm']:.3f}",
            f"{r['stated_error']:.4f}",
            f"{r['error_beside_more_walks']:.4f}",
            f"{r['error_beside_more_nodes']:.4f}",
        ]
        for r in records
    ]
    header = [
        "graph", "nodes", "its edges as an array", "reading", "vector", "with its error", "peak",
        "norm", "stated error", "beside 16 x the walks", "beside 16 x the nodes",
    ]  # fmt: skip
    return table(header, rows) + "\n\n" + run_line(records[0])


def spread(values):
    """Least and largest of some values; one has none."""
    return f"{min(values):.1f} to {max(values):.1f} in {len(values)}" if values[1:] else "one"


def classifier_table():
    """One row a set: mean over shuffles, and what choosing parameters costs."""
    records = read_records("classifier")
    rows = []
    for name in dict.fromkeys(r["set"] for r in records):
        own = [r for r in records if r["set"] == name]
        timed = next(r for r in own if "fit_cpu_seconds" in r)
        accuracies = [r["accuracy"] for r in own]
        rows.append(
            [
                name,
                f"{sum(accuracies) / len(own):.1f}",
                spread(accuracies),
                own[0]["published"],
                seconds(timed["kernel_cpu_seconds"]),
                seconds(timed["fit_cpu_seconds"]),
                f"{timed['selection_cpu_ratio']:.1f}x",
            ]
        )
    header = [
        "set", "accuracy in %", "of single shuffles", "published RetGK_I", "CPU time of one kernel",
        "of fit with selection", "selection against kernel",
    ]  # fmt: skip
    return table(header, rows) + "\n\n" + run_line(records[0])


def molecules_table():
    """One row a set, split and metric, one column a method: mean and deviation over the folds."""
    records = sorted(read_records("molecules"), key=lambda r: MOLECULE_SETS.index(r["set"]))
    methods = list(dict.fromkeys(r["method"] for r in records))
    found = {(r["set"], r["split"], r["method"]): r for r in records}
    rows = []
    for name, split in dict.fromkeys((r["set"], r["split"]) for r in records):
        own = [found.get((name, split, method)) for method in methods]
        first = next(filter(None, own))
        actives = "" if first["actives"] is None else f"{first['actives']:.1%}"
        facts = [name, f"{first['molecules']:,}", actives, split]
        for metric in first["metrics"]:
            cells = ["" if r is None else molecules_cell(r, metric) for r in own]
            rows.append([*facts, metric, *cells])
    header = ["set", "molecules", "of class 1", "split", "metric", *methods]
    return table(header, rows) + "\n\n" + run_line(records[0])


def molecules_cell(record, metric):
    values = [fold[metric] for fold in record["folds"]]
    mean = sum(values) / len(values)
    deviation = (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5
    return f"{mean:.3f} ({deviation:.3f})" if values[1:] else f"{mean:.3f}"


def explorer_tables():
    """Pages of collections: what they weigh, how quick they are, and which neighbours maps keep."""
    records = read_records("explorer")
    pages = [
        [r["set"], f"{r['graphs']:,}", f"{r['drawn']:,}", f"{r['megabytes']:.2f}",
         f"{r['seconds_to_write']:.1f}", processor_seconds(r),
         f"{r['seconds_until_interactive']:.2f}",
         f"{r['frames_per_second']:.0f} ({r['idle_frames_per_second']:.0f})",
         f"{r['script_milliseconds_per_frame']:.1f}", f"{r['tab_megabytes']:.0f}"]
        for r in records
    ]  # fmt: skip
    kept = [
        [r["set"], r["neighbours_by"], f"{r['kept_by_tsne']:.2f}", f"{r['kept_by_pca']:.2f}",
         f"{r['tsne_seconds']:.1f}", f"{r['pca_seconds']:.1f}"]
        for r in records
    ]  # fmt: skip
    return "\n\n".join(
        [
            table(
                ["page", "graphs", "drawn", "MB", "s to write", "of processors",
                 "s until interactive",
                 "frames/s (idle)", "ms of script per frame", "MB of the tab"],
                pages,
            ),
            table(
                ["page", "ten nearest by", "kept by t-SNE", "kept by kernel PCA", "s of t-SNE",
                 "s of PCA"],
                kept,
            ),
            run_line(records[-1]),
        ]
    )  # fmt: skip


def processor_seconds(record):
    """Seconds of all cores together: the same on a busy machine."""
    found = record.get("processor_seconds_to_write")
    return "" if found is None else f"{found:.1f}"


def explanations_tables():
    """Known motifs, removed nodes, other ways and cost, one table each."""
    records = read_records("explanations")

    def rows(part, *columns):
        own = [r for r in records if r["part"] == part]
        return [[r["name"], *(f"{r[c]:.3g}" for c in columns)] for r in own]

    motifs = rows("motifs", "exact", "embedded")
    groups = ("auc", "mean_share", "mean_share_of_others", "mutagens_with_it", "others_with_it")
    deletion = rows(
        "deletion", "decision", "mean_top", "mean_random", "mean_ratio", "cut_top", "cut_random",
        "cut_ratio", "cut_top_by_single_cuts",
    )  # fmt: skip
    other_ways = ("missing", "difference", "largest_share", "rank_correlation", "seconds")
    speed = ("predict_seconds", "explain_seconds", "ratio", "first_call_seconds")
    tables = [
        table(["ROC-AUC of motif nodes", "exact", "embedded"], motifs),
        table(
            ["atoms of mutagens", "ROC-AUC", "mean share", "of other atoms",
             "mutagens that have some", "others that have some"],
            rows("groups", *groups),
        ),
        table(
            ["set", "decision value", "fall, 20 % highest", "random", "ratio",
             "cut out: 20 % highest", "random", "ratio", "highest by single cuts"],
            deletion,
        ),
        table(
            ["20 graphs", "missing part of the rise", "mean largest difference", "largest share",
             "rank correlation", "seconds", "seconds of `explain`"],
            rows("alternatives", *other_ways, "seconds_integrated"),
        ),
        table(
            ["1,000 molecules", "predict, s", "explain, s", "ratio", "first call of a model, s"],
            rows("speed", *speed),
        ),
    ]  # fmt: skip
    return "\n\n".join([*tables, run_line(records[0])])


def paper_highlights():
    cells = records_by_cell(read_paper_records(PAPER_RECORDS))
    found = [row for number in PAPER_TABLES for row in table_rows(number, cells)]
    return highlights([agreement(number, found) for number in PAPER_TABLES])


def paper_table():
    """How many cells agree, total kernel times beside the published ones, and if more is open."""
    cells = records_by_cell(read_paper_records(PAPER_RECORDS))
    found = [row for number in PAPER_TABLES for row in table_rows(number, cells)]
    totals = {(total.table, total.method): total for total in total_times(found)}
    rows = []
    for number in PAPER_TABLES:
        own = agreement(number, found)
        counts = [own.n_cells, own.n_within, own.n_above, own.n_below, own.n_open]
        times = [total_text(totals.get((number, method))) for method in ("RetGK_I", "RetGK_II")]
        rows.append([f"Table {number}", *counts, own.repetitions, *times])
    header = [
        "table", "cells", "within", "above", "below", "open", "repetitions",
        "kernel time of RetGK_I", "of RetGK_II",
    ]  # fmt: skip
    still_open = open_sentence(cells, has_baseline=PAPER_BASELINE.exists())
    is_open = "The page lists what is still to be run." if still_open else ""
    parts = [table(header, rows), beside_sentence(totals.values()), is_open]
    return "\n\n".join(filter(None, parts))


def total_text(total):
    if total is None:
        return ""
    sets = ", ".join(
        filter(None, [f"{len(total.sets)} of {total.n_sets} sets", total.which_text()])
    )
    return f"{total.text()} for {sets} (paper, all: {total.published})"


def beside_sentence(totals):
    """Sets of RetGK_I and RetGK_II whose times are not from a run for times."""
    marked = [
        f"Table {total.table}, {total.method} on {total.beside_text()}"
        for total in totals
        if total.beside and total.method in ("RetGK_I", "RetGK_II")
    ]
    return f"{BESIDE} taken beside accuracies: {'; '.join(marked)}." if marked else ""


INDEX_COLUMNS = {
    "libraries": {
        "library": "library",
        "version": "version",
        "numbers": "storage",
        "build, s": "build_seconds",
        "queries / s": "queries_per_second",
        "recall@10": "recall",
        "MB": "megabytes",
    },
    "columns": {
        "features": "n_components",
        "columns": "columns",
        "numbers": "storage",
        "bytes per graph": "bytes_per_graph",
        "share of the nearest": "share_of_nearest",
        "distance / exact": "distance_over_exact",
    },
    "search": {
        "graphs": "n_graphs",
        "method": "method",
        "expansion": "expansion",
        "recall@10": "recall",
        "queries / s": "queries_per_second",
        "per processor second": "queries_per_processor_second",
        "load": "load",
    },
    "meaning": {
        "graphs": "n_graphs",
        "neighbours": "method",
        "mean Tanimoto": "tanimoto",
        "standard error": "tanimoto_error",
        "share of the exact kernel's": "share_of_nearest",
    },
}


def index_table(step):
    """Records of one step of bench_index, in the order in which they were made."""
    columns = INDEX_COLUMNS[step]
    records = [record for record in read_records("index") if record["step"] == step]
    if not records:
        return "(not measured yet)"
    rows = [
        ["" if (value := record.get(key)) is None else value for key in columns.values()]
        for record in records
    ]
    return f"{table(list(columns), rows)}\n\n{run_line(records[0])}"


def population_table(name):
    if not (FOLDER / f"{name}.jsonl").exists():
        return "There are no records yet."
    header, rows = POPULATION_PARTS[name]()
    return f"{table(header, rows)}\n\n{run_line(read_records(name)[-1])}"


def guide_table(record_name, rows_of):
    header, rows = rows_of()
    return f"{table(header, rows)}\n\n{run_line(read_records(record_name)[0])}"


TABLES = {
    **{f"index-{step}": partial(index_table, step) for step in INDEX_COLUMNS},
    "classifier": classifier_table,
    "exact-or-vectors": partial(guide_table, "retgk1", exact_or_vectors),
    "explanations": explanations_tables,
    "explorer": explorer_tables,
    "fit-memory": partial(guide_table, "fit_memory", fit_memory),
    "highlights": paper_highlights,
    "joint": joint_table,
    "large_graph": large_graph_table,
    "molecules": molecules_table,
    "paper": paper_table,
    "peers": peers_table,
    "phases": phases_table,
    "refinement": refinement_table,
    "retgk1": retgk1_table,
    "retgk2": retgk2_table,
    "rpf": rpf_table,
    "scaling": scaling_table,
    "stream": stream_table,
    "tolerance": tolerance_table,
    **{name: partial(population_table, name) for name in POPULATION_PARTS},
}


def with_tables(text):
    """A page with every table made anew."""
    for name, make in TABLES.items():
        pattern = rf"(<!-- table: {name} -->\n).*?(<!-- end -->)"
        text = re.sub(pattern, lambda m, make=make: f"{m[1]}{make()}\n{m[2]}", text, flags=re.S)
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if a page is out of date")
    is_check = parser.parse_args().check
    for page in PAGES:
        text = page.read_text()
        made = with_tables(text)
        if is_check and made != text:
            sys.exit(f"{page.name} is not what the records give")
        page.write_text(made)


if __name__ == "__main__":
    main()
