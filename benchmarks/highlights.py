"""The README's list of what is different, one number from the records in each line."""

from statistics import median

from benchmarks.records import read_records


def highlights(agreements):
    """Lines in Markdown; `agreements` are those of the paper's tables."""
    return "\n".join(
        [
            f"- **Exact within a promise**: {exact_sentence()}",
            f"- **The paper, reproduced**: {paper_sentence(agreements)}",
            f"- **The other kernels too**: {peers_sentence()}",
            f"- **Answers with reasons**: {explanations_sentence()}",
            f"- **From a laptop to millions**: {stream_sentence()}",
        ]
    )


def exact_sentence():
    records = read_records("retgk1")
    ratio = median(r["ratio"] for r in records)
    return (
        f"no inner product of two graphs is off by more than `tol`, at {ratio:.0f} times the speed "
        f"of the published way (median of {len(records)} settings)."
    )


def paper_sentence(agreements):
    n_run = sum(own.n_cells - own.verdicts[""] for own in agreements)
    within, above, below = (
        sum(own.verdicts[name] for own in agreements) for name in ("within", "above", "below")
    )
    return (
        f"{within} of {n_run} accuracies of its tables agree within two published deviations, or a "
        f"point; {above} are better, {below} worse."
    )


def peers_sentence():
    found = [
        r["grakel_seconds"] / r["seconds"]
        for r in read_records("peers")
        if r["what"] == "grakel" and r["grakel_seconds"] is not None
    ]
    return (
        "Weisfeiler-Lehman, shortest paths, graphlets and subgraph matchings, native, at "
        f"{median(found):.0f} times the speed of GraKeL (median of {len(found)} pairs of kernel "
        "and set)."
    )


def explanations_sentence():
    values = [r["exact"] for r in read_records("explanations") if r["part"] == "motifs"]
    return (
        "the nodes of planted motifs are ranked above all others with a ROC-AUC of "
        f"{min(values):.2f} or more, on {len(values)} kinds of graphs."
    )


def stream_sentence():
    record = max(read_records("stream"), key=lambda r: r["graphs"])
    return (
        f"{record['graphs']:,} molecules go from text to vectors on disk in "
        f"{record['peak_mb']:.0f} MB of memory, and "
        f"{record['seconds']:.0f} s on {record['run']['cores']} cores."
    )
