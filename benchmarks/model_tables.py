"""Tables of classifiers, molecules, explanations and pages of collections."""

import numpy as np

from benchmarks.bench_molecules import mean_and_error, processor_total
from benchmarks.markdown_tables import run_line, seconds, table
from benchmarks.molecule_sets import SETS as MOLECULE_SETS
from benchmarks.records import FOLDER, read_records


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
    """
    Means and standard errors over folds, a column for each method, and processor seconds.

    The tasks of Tox21 are one row: the mean over them, with the error of that over folds.
    """
    if not (FOLDER / "molecules.jsonl").exists():
        return "Not measured yet: `make bench-molecules`."
    records = [r for r in read_records("molecules") if r["status"] == "done"]
    records.sort(key=lambda r: MOLECULE_SETS.index(r["set"]))
    methods = list(dict.fromkeys(r["method"] for r in records))
    sets = {}
    for r in records:
        sets.setdefault((r["set"].partition(" ")[0], r["split"]), {}).setdefault(
            r["method"], []
        ).append(r)
    quality, cost = [], []
    for (name, split), found in sets.items():
        first = next(iter(found.values()))
        tasks = f"{name}, {len(first)} tasks" if len(first) > 1 else name
        molecules = f"{sum(r['molecules'] for r in first) / len(first):,.0f}"
        for metric in first[0]["metrics"]:
            cells = [molecules_cell(found.get(method), metric) for method in methods]
            quality.append([tasks, molecules, split, metric, *cells])
        spent = {method: sum(map(processor_total, own)) for method, own in found.items()}
        ratio = (
            f"{spent['retgk'] / spent['morgan']:.1f}" if {"retgk", "morgan"} <= set(spent) else ""
        )
        cost.append(
            [tasks, split, *(f"{spent[m]:.0f}" if m in spent else "" for m in methods), ratio]
        )
    return "\n\n".join(
        [
            table(["set", "molecules", "split", "metric", *methods], quality),
            "Processor seconds of all folds, with all choices:",
            table(["set", "split", *methods, "retgk / morgan"], cost),
            run_line(records[0]),
        ]
    )


def molecules_cell(records, metric):
    if records is None:
        return ""
    mean, error = mean_and_error(
        np.mean([[fold[metric] for fold in r["folds"]] for r in records], axis=0)
    )
    return f"{mean:.3f}" if error is None else f"{mean:.3f} ± {error:.3f}"


def explorer_tables():
    """Pages of collections: what they weigh, how quick they are, and which neighbours maps keep."""
    records = read_records("explorer")
    pages = [
        [r["set"], f"{r['graphs']:,}", f"{r['drawn']:,}", f"{r['megabytes']:.2f}",
         f"{r['seconds_to_write']:.1f}", processor_seconds(r),
         f"{r['seconds_until_interactive']:.2f}",
         f"{r['frames_per_second']:.0f} ({r['idle_frames_per_second']:.0f})",
         f"{r['script_milliseconds_per_frame']:.1f}", f"{r['zoom_frames_per_second']:.0f}",
         f"{r['zoom_script_milliseconds_per_frame']:.1f}", f"{r['tab_megabytes']:.0f}"]
        for r in records
    ]  # fmt: skip
    kept = [
        [r["set"], r["neighbours_by"], f"{r['kept_by_tsne']:.2f}", f"{r['kept_by_pca']:.2f}"]
        for r in records
    ]  # fmt: skip
    return "\n\n".join(
        [
            table(
                ["page", "graphs", "drawn", "MB", "s to write", "of processors",
                 "s until interactive",
                 "frames/s dragged (at rest)", "ms of script", "frames/s zoomed", "ms of script",
                 "MB of the tab"],
                pages,
            ),
            table(
                ["page", "ten nearest by", "kept by t-SNE", "kept by kernel PCA"],
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
