"""What to do where a format cannot hold the labels of nodes or of edges."""

from retgk.errors import Remedy

__all__ = ["label_remedy"]


def label_remedy(of_edges: bool, or_else: str = ", or use write_parquet") -> Remedy:
    """Advise to number the labels that a format cannot hold."""
    if of_edges:
        advice = "number the labels with with_edge_labels(graphs.edge_labels)"
        return Remedy("integer_edge_labels", f"{advice}{or_else}")
    return Remedy("integer_labels", f"number the labels with with_labels(graphs.labels){or_else}")
