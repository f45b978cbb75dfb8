"""Tables of the user guide: what both ways cost, and what fitting takes."""

from benchmarks.records import read_records


def exact_or_vectors():
    """Header and rows: one a set that was measured both ways, with all that it has."""
    exact = {r["set"]: r for r in read_records("retgk1") if "attributes" not in r["uses"]}
    vectors = {r["set"]: r for r in read_records("retgk2") if r["method"] == "retgk"}
    rows = [
        [
            name,
            f"{found['graphs']:,}",
            f"{found['nodes']:,}",
            f"{found['distinct']:,}",
            f"{found['ours']:.3g} s",
            f"{vectors[name]['seconds']:.3g} s",
        ]
        for name, found in exact.items()
        if name in vectors
    ]
    return ["set", "graphs", "nodes", "distinct", "exact", "vectors"], rows


def fit_memory():
    rows = [
        [
            f"{r['n_graphs']:,}",
            f"{r['n_nodes']:,}",
            f"{r['seconds']:.0f} s",
            f"{r['graphs_megabytes']:,} MB",
            f"{r['peak_megabytes']:,} MB",
        ]
        for r in read_records("fit")
        if r["part"] == "memory"
    ]
    return ["graphs", "nodes", "fit", "memory of the graphs", "peak"], rows
