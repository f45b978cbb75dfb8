"""Tables of many molecules, of large graphs and of the index."""

from benchmarks.markdown_tables import run_line, seconds, table
from benchmarks.records import read_records


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
