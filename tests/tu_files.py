"""Small collections in TUDataset form, for the tests that read them."""

import zipfile
from pathlib import Path
from typing import Any

from retgk import GraphBatch

# Graph 1 is a triangle with a loop on its first node, graph 2 an edge, graph 3 a lone node.
TOY = {
    "A": "1, 1\n1, 2\n2, 1\n2, 3\n3, 2\n3, 1\n1, 3\n4, 5\n5, 4\n",
    "graph_indicator": "1\n1\n1\n2\n2\n3\n",
    "graph_labels": "1\n-1\n1\n",
}


def write_folder(folder: Path, name: str = "TOY", **changes: str | bytes | None) -> Path:
    """Write the toy collection to a folder, with some files changed, added or left out."""
    inner = folder / name
    inner.mkdir(parents=True)
    for kind, content in {**TOY, **changes}.items():
        if content is not None:
            raw = content.encode() if isinstance(content, str) else content
            (inner / f"{name}_{kind}.txt").write_bytes(raw)
    return folder


def write_zip(folder: Path, name: str = "TOY", **changes: str | bytes | None) -> Path:
    """Write the toy collection to an archive, with some files changed, added or left out."""
    path = folder / f"{name}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for kind, content in {**TOY, **changes}.items():
            if content is not None:
                archive.writestr(f"{name}/{name}_{kind}.txt", content)
    return path


def toy_graphs(**values: Any) -> GraphBatch:
    """Build the graphs of the toy collection without its files."""
    edges = [[0, 0], [0, 1], [1, 2], [2, 0], [3, 4]]
    return GraphBatch.from_edges([3, 2, 1], edges, symmetrize=True, **values)
