"""
`retgk warmup`: compile everything once, so that the first real run is quick.

Each part is a small run that makes numba compile what it needs, in a process of its own
(``python -m retgk.cli.warmup PART``): within one process, numba compiles one function at a time.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Annotated

import typer

from retgk.cli.command import command
from retgk.cli.options import Common
from retgk.cli.terminal import note, one_line, print_line, print_record
from retgk.errors import InvalidInputError
from retgk.runtime.near_names import name_advice

if TYPE_CHECKING:
    from retgk.graphs.batch import GraphBatch
    from retgk.io.graph_dataset import GraphDataset

__all__ = ["COMPILE_PART", "warmup"]

_POLL_SECONDS = 0.02


# What is compiled


@cache
def _data(n_labels: int, n_attributes: int) -> GraphDataset:
    from retgk.io.datasets.generators import make_graph_classification

    return make_graph_classification(
        12, n_labels=n_labels, n_attributes=n_attributes, random_state=0
    )


def _kinds_of_graphs() -> list[GraphBatch]:
    """Graphs of the paper's four cases, and weighted ones."""
    from retgk.graphs.batch import GraphBatch

    kinds = [_data(*counts).graphs for counts in product((0, 3), (0, 2))]
    plain = kinds[0]
    return [*kinds, GraphBatch(plain.node_ptr, plain.indptr, plain.indices, 2 * plain.weights)]


def _compile_reading() -> None:
    from retgk.io.datasets.tudataset import load_tudataset, save_tudataset

    with tempfile.TemporaryDirectory() as folder:
        save_tudataset(_data(3, 2), folder)
        load_tudataset(_data(3, 2).name, Path(folder), cache=False)


def _compile_probabilities() -> None:
    from retgk.walks.return_probabilities import return_probabilities

    for graphs in _kinds_of_graphs():
        return_probabilities(graphs, 20)
        return_probabilities(graphs, 20, nodes=3, random_state=0)


def _compile_walks() -> None:
    from retgk.walks.return_probabilities import Method, return_probabilities

    kinds = _kinds_of_graphs()
    methods: tuple[Method, ...] = ("monte-carlo", "monte-carlo-returns")
    for graphs, errors, method in product((kinds[0], kinds[-1]), (False, True), methods):
        return_probabilities(
            graphs, 6, method=method, n_walks=8, return_standard_error=errors, random_state=0
        )


def _compile_kernel() -> None:
    """NumPy finds the return probabilities here: the compiled ones are another part."""
    from retgk.estimators.classifier import RetGKClassifier
    from retgk.estimators.kernel import RetGKKernel
    from retgk.kernels.node_kernels import Gaussian, Laplacian, NodeKernel
    from retgk.runtime.parallel import single_threaded_blas

    kernels: tuple[NodeKernel, ...] = (Laplacian("median"), Gaussian("median"))
    choices = product(_kinds_of_graphs(), (1e-4, 0.0, 0.1), kernels)
    with single_threaded_blas():
        for graphs, tol, kernel in choices:
            model = RetGKKernel(5, method="eigh", structure_kernel=kernel, tol=tol, random_state=0)
            model.fit(graphs).transform(graphs)
        data = _data(3, 2)
        RetGKClassifier(method="eigh", n_steps=5, random_state=0).fit(data).predict(data)


def _compile_embedding() -> None:
    from retgk.engine.embedded.embedded_engine import FeatureMap
    from retgk.engine.embedded.embedding_gram import embedding_gram
    from retgk.estimators.embedding import RetGKEmbedding
    from retgk.kernels.graph_kernels import ExponentialGraphKernel
    from retgk.runtime.parallel import single_threaded_blas

    maps: tuple[FeatureMap, ...] = ("phases", "joint", "tensor")
    choices = product(_kinds_of_graphs(), ("float64", "float32"), maps)
    with single_threaded_blas():
        for graphs, dtype, feature_map in choices:
            model = RetGKEmbedding(
                10,
                method="eigh",
                n_components=8,
                feature_map=feature_map,
                dtype=dtype,
                sparse_output=True,
                random_state=0,
            )
            embedding_gram(model.fit_transform(graphs), kernel=ExponentialGraphKernel())


def _compile_peers() -> None:
    from retgk.kernels.node_kernels import Bridge, Laplacian
    from retgk.peer_kernels.deep_graph import DeepGraphKernel
    from retgk.peer_kernels.graph_invariant import GraphInvariantKernel
    from retgk.peer_kernels.graphlets import GraphletKernel
    from retgk.peer_kernels.peer_kernel import PeerKernel
    from retgk.peer_kernels.shortest_path import ShortestPathKernel
    from retgk.peer_kernels.subgraph_matching import SubgraphMatchingKernel
    from retgk.peer_kernels.weisfeiler_lehman import WeisfeilerLehmanKernel

    kernels: list[PeerKernel] = [
        WeisfeilerLehmanKernel(2),
        WeisfeilerLehmanKernel(2, base="optimal-assignment"),
        ShortestPathKernel(),
        GraphletKernel(3),
        GraphletKernel(5, n_samples=9, random_state=0),
        SubgraphMatchingKernel(3),
        GraphInvariantKernel(1, attribute_kernel=None),
        DeepGraphKernel("graphlet", n_samples=9, random_state=0),
    ]
    with_attributes: list[PeerKernel] = [
        ShortestPathKernel(attribute_kernel=Laplacian(1.0)),
        SubgraphMatchingKernel(3, attribute_kernel=Bridge(1.0)),
        GraphInvariantKernel(1),
    ]
    for graphs in _kinds_of_graphs():
        own = with_attributes if graphs.n_attributes else []
        for kernel in (*kernels, *own):
            kernel.fit_transform(graphs)
            kernel.transform(graphs)


def _compile_drawings() -> None:
    import numpy as np

    from retgk.explorer.node_layouts import batch_positions
    from retgk.explorer.projection import nearest_graphs

    batch_positions(_kinds_of_graphs()[0])
    nearest_graphs(np.zeros((3, 2), np.float32), 1)


COMPILE_PART: dict[str, Callable[[], None]] = {
    "kernel": _compile_kernel,
    "embedding": _compile_embedding,
    "walks": _compile_walks,
    "peers": _compile_peers,
    "probabilities": _compile_probabilities,
    "reading": _compile_reading,
    "drawings": _compile_drawings,
}
"""Runs that compile the parts, the longest first."""


# The command

Parts = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PART...",
        help=f"Only some of {', '.join(COMPILE_PART)}.",
        autocompletion=lambda incomplete: [p for p in COMPILE_PART if p.startswith(incomplete)],
    ),
]
Jobs = Annotated[
    int | None, typer.Option("--n-jobs", "-j", help="Processes; one per core by default.")
]


@command(
    examples=[
        "retgk warmup",
        "retgk warmup probabilities kernel",
        "NUMBA_CACHE_DIR=/fast/cache retgk warmup",
    ]
)
def warmup(common: Common, parts: Parts = None, n_jobs: Jobs = None) -> None:
    """
    Compile everything that is compiled on first use, and say how long that took.

    Compiled code is kept beside the package, or in NUMBA_CACHE_DIR, and used by all later runs.
    """
    wanted = list(parts or COMPILE_PART)
    for part in wanted:
        if part not in COMPILE_PART:
            advice = name_advice(part, COMPILE_PART, "choose from")
            raise InvalidInputError(f"there is no part {part!r}; {advice}")
    note(common, f"compiling {', '.join(wanted)}, which may take half a minute")
    start = perf_counter()
    seconds: dict[str, float] = {}
    for part, spent in _compile_in_processes(wanted, n_jobs):
        seconds[part] = round(spent, 2)
        note(common, f"{part}: {spent:.1f} s")
    total = round(perf_counter() - start, 2)
    if common.json:
        print_record({"seconds": total, "parts": seconds})
    else:
        print_line(f"{', '.join(wanted)}: compiled in {total:.1f} s")


def _compile_in_processes(parts: Sequence[str], n_jobs: int | None) -> Iterator[tuple[str, float]]:
    """Name and seconds of every part, as soon as it is done."""
    from retgk.runtime.parallel import n_threads

    waiting = list(parts)
    running: dict[str, tuple[subprocess.Popen[str], float]] = {}
    n_processes = n_threads(n_jobs)
    try:
        while waiting or running:
            while waiting and len(running) < n_processes:
                part = waiting.pop(0)
                running[part] = (_start_process(part), perf_counter())
            for part in [part for part, (process, _) in running.items() if _is_done(process)]:
                _, start = running.pop(part)
                yield part, perf_counter() - start
            sleep(_POLL_SECONDS)
    finally:
        for process, _ in running.values():
            process.kill()
            process.communicate()


def _start_process(part: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "retgk.cli.warmup", part],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _is_done(process: subprocess.Popen[str]) -> bool:
    """Whether a process has ended; an error if it ended badly."""
    if process.poll() is None:
        return False
    _, errors = process.communicate()
    if process.returncode != 0:
        last = one_line(ValueError(errors.strip().rpartition("\n")[2]))
        raise InvalidInputError(f"compiling failed: {last}")
    return True


if __name__ == "__main__":
    COMPILE_PART[sys.argv[1]]()
