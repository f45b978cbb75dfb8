"""The README's three numbers, each from the records, in words that need no other page."""

from statistics import median

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
            f"- **A million graphs on a laptop**: {stream_sentence()}",
        ]
    )


def paper_sentence(agreements):
    n_run = sum(own.n_cells - own.verdicts[""] for own in agreements)
    within, above, below = (
        sum(own.verdicts[name] for own in agreements) for name in ("within", "above", "below")
    )
    return (
        f"of {n_run} accuracies that it reports, {within} come out the same here (within two of "
        f"its standard deviations, or one point), {above} higher and {below} lower."
    )


def peers_sentence():
    """Median over the sets, for each kernel."""
    ratios = {}
    for record in read_records("peers"):
        if record["what"] == "grakel" and record["grakel_seconds"] is not None:
            ratio = record["grakel_seconds"] / record["seconds"]
            ratios.setdefault(record["kernel"], []).append(ratio)
    first, *others = (
        f"{name} {median(ratios[kernel]):,.0f} times" for kernel, name in _BESIDE_GRAKEL.items()
    )
    listed = ", ".join([f"{first} as fast", *others])
    return f"{listed} (median of {len(ratios['WL'])} collections), with the same values."


def stream_sentence():
    record = max(read_records("stream"), key=lambda r: r["graphs"])
    return (
        f"{record['graphs']:,} molecules go from SMILES text to vectors on disk in "
        f"{record['seconds']:.0f} s, on {record['run']['cores']} cores and in "
        f"{record['peak_mb']:.0f} MB of memory."
    )
