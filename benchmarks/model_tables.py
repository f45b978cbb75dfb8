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


def molecule_sets_measured():
    """
    Records that were stored, by set and split, then by method: one, or those of many tasks.

    The tasks of Tox21 are one set: the mean over them, with the error of that over folds.
    """
    sets = {}
    records = [r for r in read_records("molecules") if r["status"] == "done"]
    for r in sorted(records, key=lambda r: MOLECULE_SETS.index(r["set"])):
        name = r["set"].partition(" ")[0]
        sets.setdefault((name, r["split"]), {}).setdefault(r["method"], []).append(r)
    n_tasks = {key: len(next(iter(found.values()))) for key, found in sets.items()}
    return {
        (f"{name}, {n_tasks[name, split]} tasks" if n_tasks[name, split] > 1 else name, split): own
        for (name, split), own in sets.items()
    }


def molecules_table(split=None):
    """Means and standard errors over folds, a column for each method, and processor seconds."""
    if not (FOLDER / "molecules.jsonl").exists():
        return "There are no records yet."
    measured = molecule_sets_measured()
    methods = list(dict.fromkeys(method for found in measured.values() for method in found))
    quality, cost = [], []
    for (name, own_split), found in measured.items():
        if split not in (None, own_split):
            continue
        first = next(iter(found.values()))
        molecules = f"{sum(r['molecules'] for r in first) / len(first):,.0f}"
        for metric in first[0]["metrics"]:
            cells = [molecules_cell(found.get(method), metric) for method in methods]
            quality.append([name, molecules, own_split, metric, *cells])
        spent = {method: sum(map(processor_total, own)) for method, own in found.items()}
        is_known = {"retgk", "morgan"} <= spent.keys()
        ratio = f"{spent['retgk'] / spent['morgan']:.1f}" if is_known else ""
        cells = [f"{spent[method]:.0f}" if method in spent else "" for method in methods]
        cost.append([name, own_split, *cells, ratio])
    return "\n\n".join(
        [
            table(["set", "molecules", "split", "metric", *methods], quality),
            "Processor seconds of all folds, with all choices:",
            table(["set", "split", *methods, "retgk / morgan"], cost),
            run_line(read_records("molecules")[0]),
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
            ["fragment that makes active", "ROC-AUC of its atoms", "lowest of a molecule",
             "molecules", "accuracy", "largest gap of completeness", "explain, processor s"],
            rows("fragments", "auc", "lowest_auc", "graphs", "accuracy", "largest_gap",
                 "explain_seconds"),
        ),
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
