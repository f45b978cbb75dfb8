"""One method on one set in a process of its own: its time, its memory and its kernel matrix.

python -m benchmarks.retgk2_worker METHOD FOLDER SETTING OUTPUT REPETITIONS

The graphs are in memory, in the form that the method wants, before the clock starts; what
compiles has compiled on a few of them.
"""

import json
import sys
import time
import warnings

import numpy as np

from benchmarks.published import gram, mean_embeddings
from benchmarks.settings import load_setting
from retgk._runtime.processes import peak_megabytes
from retgk.kernels import ExponentialGraphKernel, RetGKEmbedding, Walks, embedding_gram


def ours(graphs, **options):
    def run():
        vectors = RetGKEmbedding(random_state=0, **options).fit_transform(graphs)
        return embedding_gram(vectors, kernel=ExponentialGraphKernel())

    RetGKEmbedding(random_state=0, **options).fit_transform(graphs[:3])
    return run


def published(graphs):
    arrays = (graphs.node_ptr, graphs.indptr, graphs.indices)
    return lambda: gram(mean_embeddings(arrays, graphs.labels))


def grakel_graphs(graphs):
    """GraKeL's own graphs; node degrees are the labels where there are none."""
    from grakel import Graph

    labels = graphs.labels if graphs.has_labels else np.diff(graphs.indptr)
    converted = []
    for graph, first in zip(graphs, graphs.node_ptr, strict=False):
        neighbours = np.split(graph.indices, graph.indptr[1:-1])
        edges = {i: dict.fromkeys(map(int, js), 1.0) for i, js in enumerate(neighbours)}
        own = dict(enumerate(labels[first : first + graph.n_nodes].tolist()))
        converted.append(Graph(edges, node_labels=own))
    return converted


def weisfeiler_lehman(graphs, n_jobs=None):
    from grakel import VertexHistogram, WeisfeilerLehman

    converted = grakel_graphs(graphs)
    return lambda: WeisfeilerLehman(
        n_iter=5, base_graph_kernel=VertexHistogram, n_jobs=n_jobs
    ).fit_transform(converted)


def shortest_path(graphs):
    from grakel import ShortestPath

    converted = grakel_graphs(graphs)
    return lambda: ShortestPath().fit_transform(converted)


def netlsd_signatures(graphs):
    """Heat traces of every graph, and the same kernel of their distances as ours."""
    import netlsd
    from scipy.sparse import csr_matrix

    matrices = [
        csr_matrix((graph.weights, graph.indices, graph.indptr), shape=(graph.n_nodes,) * 2)
        for graph in graphs
    ]
    return lambda: gram(np.array([netlsd.heat(matrix) for matrix in matrices]))


METHODS = {
    "retgk": ours,
    "retgk float32": lambda graphs: ours(graphs, dtype=np.float32),
    "retgk monte-carlo": lambda graphs: ours(graphs, walks=Walks(method="monte-carlo")),
    "retgk, block a label": lambda graphs: ours(
        graphs, feature_map="joint", n_components=200, sparse_output=True
    ),
    "published, NumPy": published,
    "GraKeL WL": weisfeiler_lehman,
    "GraKeL WL, n_jobs=-1": lambda graphs: weisfeiler_lehman(graphs, n_jobs=-1),
    "GraKeL shortest path": shortest_path,
    "NetLSD": netlsd_signatures,
}


def main():
    method, folder, name, output, repetitions = sys.argv[1:]
    warnings.simplefilter("ignore")  # GraKeL's
    _, graphs = load_setting(folder, name)
    run = METHODS[method](graphs)
    before = peak_megabytes()
    seconds, cpu = [], []
    for _ in range(int(repetitions)):
        start, cpu_start = time.perf_counter(), time.process_time()
        matrix = run()
        seconds.append(time.perf_counter() - start)
        cpu.append(time.process_time() - cpu_start)
        if sum(seconds) > 20:
            break
    np.save(output, matrix)
    print(
        json.dumps(
            {"seconds": min(seconds), "cpu_seconds": min(cpu), "peak_mb": peak_megabytes() - before}
        )
    )


if __name__ == "__main__":
    main()
