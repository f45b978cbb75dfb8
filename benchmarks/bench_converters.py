"""
Time the converters beside the plainest loop that reads the same graphs.

    python benchmarks/bench_converters.py [--smiles FILE.csv.gz]

Every pair of times is taken in turn in one run and the best of each is kept, so that a busy
machine slows both alike.
"""

import argparse
import gzip
import time
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np

from retgk.io.molecules import from_smiles
from retgk.io.networkx import from_networkx

N_GRAPHS, N_NODES, N_ROUNDS = 10_000, 30, 5
TARGET_RATIO = 3.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--smiles", help="gzipped CSV whose first column is SMILES")
    parser.add_argument("--n-smiles", type=int, default=20_000)
    arguments = parser.parse_args()
    for weighted in (False, True):
        graphs = molecules(weighted)
        kind = "weighted" if weighted else "unweighted"
        compare(f"{kind} structure", graphs, {})
        compare(f"{kind}, label and 4 attributes", graphs, OPTIONS)
        named = [nx.relabel_nodes(graph, str) for graph in graphs]
        compare(f"{kind} structure, nodes named by strings", named, {})
    if arguments.smiles:
        compare_smiles(arguments.smiles, arguments.n_smiles)


OPTIONS = {"label": "element", "attributes": ["charge", "position"]}


def molecules(weighted: bool) -> list[nx.Graph]:
    rng = np.random.default_rng(0)
    return [molecule(rng, weighted) for _ in range(N_GRAPHS)]


def molecule(rng: np.random.Generator, weighted: bool) -> nx.Graph:
    """A tree of short branches with three more bonds, about as dense as a drug."""
    graph = nx.Graph()
    for node in range(N_NODES):
        position = rng.normal(size=3).tolist()
        graph.add_node(node, element="CNOS"[rng.integers(4)], charge=0.5, position=position)
    ends = [(node, max(0, node - 1 - int(rng.integers(3)))) for node in range(1, N_NODES)]
    ends += [tuple(map(int, rng.choice(N_NODES, 2, replace=False))) for _ in range(3)]
    for source, target in ends:
        graph.add_edge(source, target, **({"weight": 1.5} if weighted else {}))
    return graph


def plain_loop(graphs: list[nx.Graph]) -> None:
    for graph in graphs:
        for _ in graph.nodes:
            pass
        for _, _ in graph.edges:
            pass


def loop_over_values(graphs: list[nx.Graph]) -> None:
    """The plain loop, which also looks up everything that is converted."""
    for graph in graphs:
        for _, data in graph.nodes(data=True):
            for _ in data["element"], data["charge"], *data["position"]:
                pass
        for _, _, data in graph.edges(data=True):
            data.get("weight", 1)


def compare(name: str, graphs: list[nx.Graph], options: dict[str, Any]) -> None:
    runs = (
        lambda: plain_loop(graphs),
        lambda: loop_over_values(graphs),
        lambda: from_networkx(graphs, **options),
    )
    times = np.array([[seconds(run) for run in runs] for _ in range(N_ROUNDS)])
    plain, values, convert = times.min(axis=0)
    verdict = "ok" if convert <= TARGET_RATIO * plain else "more"
    print(
        f"networkx, {name}: plain loop {plain:.3f} s, loop over values {values:.3f} s, "
        f"from_networkx {convert:.3f} s: {convert / plain:.2f} times the plain loop "
        f"(at most {TARGET_RATIO:g}: {verdict}), {convert / values:.2f} times that over values"
    )


def compare_smiles(path: str, n_smiles: int) -> None:
    from rdkit import Chem

    with gzip.open(path, "rt") as file:
        next(file)
        smiles = [
            line.split(",")[0].strip() for line, _ in zip(file, range(n_smiles), strict=False)
        ]
    parse = seconds(lambda: [Chem.MolFromSmiles(text) is None for text in smiles])
    for options in (
        {},
        {"attributes": ["charge", "aromatic"]},
        {"bond_orders": True},
        {"n_jobs": 2},
    ):
        convert = seconds(lambda options=options: from_smiles(smiles, **options))
        each = 1e6 / len(smiles)
        print(
            f"{len(smiles)} SMILES, {options}: RDKit alone {parse * each:.0f} us each, "
            f"from_smiles {convert * each:.0f} us each, ratio {convert / parse:.2f}"
        )


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
