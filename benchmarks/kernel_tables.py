"""Tables of kernels: their times, errors and accuracies beside those of others."""

from benchmarks.bench_retgk2 import LIMIT as RETGK2_LIMIT
from benchmarks.markdown_tables import run_line, seconds, table
from benchmarks.records import read_records


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
        is_part = r["kernel"] == "CSM attributes"
        own = [f"{r['set']}, {r['n_graphs']} graphs" if is_part else r["set"], r["kernel"]]
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
