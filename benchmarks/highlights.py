"""The README's numbers, each from the records, in words that need no other page."""

from statistics import mean, median

from benchmarks.records import read_records

_BESIDE_GRAKEL = {
    "WL": "Weisfeiler-Lehman",
    "SP": "shortest paths",
    "WL-OA": "optimal assignments",
}


def highlights(agreements):
    """Lines in Markdown; `agreements` are those of the paper's tables."""
    return "\n".join(
        [
            f"- **The paper, computed again**: {paper_sentence(agreements)}",
            f"- **Kernels of others, beside GraKeL**: {peers_sentence()}",
            f"- **Molecules, beside LightGBM on Morgan fragments**: {molecules_sentence()}",
            f"- **Many graphs**: {stream_sentence()}",
        ]
    )


def paper_sentence(agreements):
    n_run = sum(own.n_cells - own.verdicts[""] for own in agreements)
    within, above, below = (
        sum(own.verdicts[name] for own in agreements) for name in ("within", "above", "below")
    )
    return (
        f"{within} of {n_run} published accuracies come out within two of their standard "
        f"deviations or one point, whichever is more; {above} are higher, {below} lower."
    )


def peers_sentence():
    """Median over the sets, for each kernel."""
    ratios = {}
    for record in read_records("peers"):
        if record["what"] == "grakel" and record["grakel_seconds"] is not None:
            ratio = record["grakel_seconds"] / record["seconds"]
            ratios.setdefault(record["kernel"], []).append(ratio)
    listed = ", ".join(
        f"{name} {median(own):,.0f} times as fast ({min(own):,.0f} to {max(own):,.0f})"
        for own, name in ((ratios[kernel], name) for kernel, name in _BESIDE_GRAKEL.items())
    )
    return (
        f"{listed}: the median of {len(ratios['WL'])} collections and the range, all cores for "
        "both, the same values."
    )


def stream_sentence():
    record = max(read_records("stream"), key=lambda r: r["graphs"])
    return (
        f"{record['graphs']:,} molecules go from SMILES text to vectors on disk in "
        f"{record['seconds']:.0f} s, on {record['run']['cores']} cores and in "
        f"{record['peak_mb']:.0f} MB of memory."
    )


def molecules_sentence():
    """Means over folds by scaffold of both methods, with what they cost."""
    values, seconds = {}, {}
    for r in read_records("molecules"):
        if r["split"] == "scaffold" and r["method"] in ("retgk", "morgan"):
            name, metric = r["set"].partition(" ")[0], r["metrics"][0]
            own = mean(fold[metric] for fold in r["folds"])
            values.setdefault((metric, name), {}).setdefault(r["method"], []).append(own)
            spent = seconds.setdefault(name, dict.fromkeys(("retgk", "morgan"), 0.0))
            spent[r["method"]] += sum(fold["processor"] for fold in r["folds"])
    words = {"rmse": "RMSE", "roc_auc": "ROC-AUC"}
    parts = []
    for (metric, name), own in sorted(values.items(), reverse=True):
        tasks = f", {len(own['retgk'])} tasks" if len(own["retgk"]) > 1 else ""
        both = f"{mean(own['retgk']):.2f} beside {mean(own['morgan']):.2f}"
        parts.append(f"{words[metric]} {both} ({name}{tasks})")
    ratios = [spent["retgk"] / spent["morgan"] for spent in seconds.values()]
    return (
        f"{', '.join(parts)}; five folds by scaffold, both as they come, at {min(ratios):.0f} to "
        f"{max(ratios):.0f} times the processor time. "
        "[Errors of these means](docs/guide/molecules.md)."
    )
