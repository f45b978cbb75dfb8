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
    """Means over folds by scaffold, of both methods with their defaults."""
    of_set = {}
    for r in read_records("molecules"):
        if r["split"] == "scaffold" and r["method"] in ("retgk", "morgan"):
            name, metric = r["set"].partition(" ")[0], r["metrics"][0]
            value = mean(fold[metric] for fold in r["folds"])
            own = of_set.setdefault((metric, name), {})
            own.setdefault(r["method"], []).append(value)
    words = {"rmse": "RMSE", "roc_auc": "ROC-AUC"}
    parts = []
    for (metric, name), own in sorted(of_set.items(), reverse=True):
        tasks = f" ({len(own['retgk'])} tasks)" if len(own["retgk"]) > 1 else ""
        ours, theirs = mean(own["retgk"]), mean(own["morgan"])
        parts.append(f"{words[metric]} {ours:.2f} on {name}{tasks}, not {theirs:.2f}")
    return f"{'; '.join(parts)}: five folds by scaffold, both as they come."
