"""
Write everything to a disk that is too small, and say what came of it.

Started by `tests/test_written_files.py` in its own mount namespace; the folder in the arguments
becomes a file system of a few blocks there.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from errno import EOPNOTSUPP
from pathlib import Path
from typing import Any
from unittest import mock

from retgk import GraphBatch, GraphDataset, Walks, save_model
from retgk.datasets import make_graph_classification, save_tudataset
from retgk.io import write_parquet
from retgk.io.graphml import write_graphml
from retgk.kernels import RetGKEmbedding, write_mean_embedding_gram
from tests.programs import invoke

PAGE = 4096
N_GRAPHS = 300


def mount(folder: Path, n_bytes: int) -> None:
    options = f"size={n_bytes},mode=777"
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    subprocess.run(command, check=True, capture_output=True)


def writers(source: Path, folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Names of writers, each of more bytes than the disk has."""
    data = make_graph_classification(N_GRAPHS, n_attributes=5, rng=0)
    graphs = data.graphs
    write_parquet(GraphDataset(graphs, data.targets, "many"), source / "many.parquet")
    model = RetGKEmbedding(800, walks=Walks(5), random_state=0).fit(graphs)
    yield "write_parquet", lambda: write_parquet(data, folder / "out.parquet")
    yield "save_model", lambda: save_model(model, folder / "out.retgk")
    yield "save_tudataset", lambda: save_tudataset(data, folder)
    yield "write_graphml", lambda: write_graphml(graphs, folder)
    yield "gram", lambda: write_mean_embedding_gram(folder / "out.npy", graphs)
    for can_reserve in (True, False):
        yield (
            f"gram, filled later, {can_reserve}",
            lambda can_reserve=can_reserve: fill_later(folder, graphs, can_reserve),
        )
    lines = [f"embed {{0}} -D 50 -o {{1}}/v.{e}" for e in ("npy", "npz", "csv", "json", "parquet")]
    lines += [
        "features {0} -o {1}/f.npy",
        "convert {0} {1}/c.parquet",
        "convert {0} {1}/C.zip",
        "convert {0} {1}/c --to graphml",
        "kernel {0} --matrix products --on-disk -o {1}/g.npy",
    ]
    for line in lines:
        yield line, lambda line=line: command(line.format(source / "many.parquet", folder))


def fill_later(folder: Path, graphs: GraphBatch, can_reserve: bool) -> None:
    """Write a matrix to a disk that seemed to have room when it was begun."""

    def reserve_nothing(*_: int) -> None:
        raise OSError(EOPNOTSUPP, os.strerror(EOPNOTSUPP))

    usage = shutil.disk_usage(folder)._replace(free=1 << 40)
    reserve = os.posix_fallocate if can_reserve else reserve_nothing
    with (
        mock.patch.object(shutil, "disk_usage", return_value=usage),
        mock.patch.object(os, "posix_fallocate", reserve),
    ):
        write_mean_embedding_gram(folder / "out.npy", graphs)


def command(line: str) -> None:
    """Run a command; its one line about a failure becomes the error."""
    result = invoke(*line.split())
    if result.exit_code != 0:
        lines = result.stderr.splitlines()
        assert lines[-1].startswith("retgk: "), result.stderr
        assert "Traceback" not in result.stderr
        raise OSError(lines[-1])


def main(source: Path, folder: Path) -> None:
    """Print, for every writer, its error and what is in the folder then, as lines of JSON."""
    folder.mkdir(exist_ok=True)
    for name, write in writers(source, folder):
        mount(folder, 6 * PAGE)
        error = None
        try:
            write()
        except Exception as caught:
            error = f"{type(caught).__name__}: {caught}"
        found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
        subprocess.run(["umount", "-l", str(folder)], check=True)
        print(json.dumps({"name": name, "error": error, "found": found}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
