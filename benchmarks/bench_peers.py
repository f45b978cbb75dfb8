"""Native kernels of other authors beside GraKeL's: time, equality, large sets and growth.

    python -m benchmarks.bench_peers FOLDER [--cap SECONDS] [--parts grakel large growth]

Each measure has a process of its own. Ours comes first, from a `GraphBatch`; then GraKeL's from its
own graphs, which are made beforehand: in one thread and, where it has them, in all, of which the
quicker counts. Subgraph matchings (CSM, up to five nodes) are compared with attributes too, on
twelve graphs. A kernel of GraKeL that does not finish within the cap is recorded as such.
"""

import argparse
import json
import selectors
import subprocess
import sys
import time
import warnings

import numpy as np

from benchmarks.grakel_graphs import grakel_graphs
from benchmarks.records import add_record, best_time
from benchmarks.settings import load_setting

SETS = ["MUTAG/labels", "PTC_MR/labels", "ENZYMES/labels", "PROTEINS/labels", "DHFR/labels"]
SETS += ["NCI1/labels", "DD/labels", "IMDB-BINARY", "IMDB-MULTI", "COLLAB", "REDDIT-BINARY"]
KERNELS = ("WL", "WL-OA", "SP", "SP lengths", "GK drawn", "GK exact", "CSM")
WITH_ATTRIBUTES = "CSM attributes"
ATTRIBUTE_SETS = ["ENZYMES/both", "BZR/both", "COX2/both", "DHFR/both"]
N_WITH_ATTRIBUTES = 12
"""Graphs of these that are compared beside GraKeL, which would take hours for all."""
WITHOUT_CSM = ("DD/labels", "COLLAB", "REDDIT-BINARY")
"""Sets that are left out, as they have very many subgraphs of five nodes."""
LARGE = [("SP", "DD/labels"), ("SP", "COLLAB"), ("SP", "REDDIT-BINARY"), ("WL", "REDDIT-MULTI-12K")]
GROWTH = [("WL", "NCI1/labels"), ("WL-OA", "NCI1/labels"), ("SP", "NCI1/labels")]
GROWTH += [("GK drawn", "NCI1/labels"), ("GK exact", "NCI1/labels"), ("CSM", "NCI1/labels")]
GROWTH += [(WITH_ATTRIBUTES, "BZR/both"), ("HGK(WL)", "ENZYMES/both"), ("GIK", "ENZYMES/both")]
GROWTH += [("DGK", "NCI1/labels")]
N_SAMPLES = 100


def loaded(folder, setting):
    """Graphs, labelled by degrees where they have no labels, as GraKeL's are."""
    data, graphs = load_setting(folder, setting)
    return data, graphs.without_edge_labels()


def native(kind, graphs):
    from retgk.kernels import (
        DeepGraph,
        GraphInvariant,
        Graphlets,
        HashGraph,
        Laplacian,
        ShortestPath,
        SubgraphMatching,
        WeisfeilerLehman,
        WeisfeilerLehmanOA,
    )

    start = "labels" if graphs.has_labels else "degrees"
    return {
        "WL": WeisfeilerLehman(start=start),
        "WL-OA": WeisfeilerLehmanOA(start=start),
        "SP": ShortestPath(start=start),
        "SP lengths": ShortestPath(start="none"),
        "GK drawn": Graphlets(5, n_samples=N_SAMPLES, random_state=0),
        "GK exact": Graphlets(3, connected=True),
        "CSM": SubgraphMatching(start=start),
        WITH_ATTRIBUTES: SubgraphMatching(attributes=Laplacian("dimension")),
        "HGK(WL)": HashGraph(random_state=0),
        "GIK": GraphInvariant(),
        "DGK": DeepGraph(random_state=0),
    }[kind]


def of_grakel(kind, n_jobs, n_attributes=0):
    import grakel

    sampling = {"n_samples": N_SAMPLES}
    return {
        "WL": lambda: grakel.WeisfeilerLehman(n_jobs=n_jobs, normalize=True),
        "WL-OA": lambda: grakel.WeisfeilerLehmanOptimalAssignment(n_jobs=n_jobs, normalize=True),
        "SP": lambda: grakel.ShortestPath(normalize=True),
        "SP lengths": lambda: grakel.ShortestPath(normalize=True, with_labels=False),
        "GK drawn": lambda: grakel.GraphletSampling(k=5, sampling=sampling, random_state=0),
        "GK exact": lambda: grakel.GraphletSampling(k=3, normalize=True),
        "CSM": lambda: grakel.SubgraphMatching(k=5, normalize=True),
        WITH_ATTRIBUTES: lambda: matchings_of_grakel(n_attributes),
    }[kind]()


def matchings_of_grakel(n_attributes):
    """Subgraph matchings with equality of labels times a Laplacian kernel of attributes."""
    import grakel

    def node_kernel(one, two):
        if one[0] != two[0]:
            return 0.0
        distance = np.linalg.norm(np.subtract(one[1], two[1]))
        return float(np.exp(-distance / np.sqrt(n_attributes)))

    return grakel.SubgraphMatching(k=5, kv=node_kernel, lw="uniform", normalize=True)


def timed(function):
    start = time.perf_counter()
    value = function()
    return value, time.perf_counter() - start


def best_of_a_second(function):
    """Shortest of up to twenty runs that take a second or so: a shared machine adds noise."""
    _, seconds = timed(function)
    return best_time(function, min(max(int(1 / seconds), 2), 20))


def beside_grakel(folder, kind, setting):
    data, graphs = loaded(folder, setting)
    if kind == WITH_ATTRIBUTES:
        graphs = graphs[:N_WITH_ATTRIBUTES]
    native(kind, graphs).fit_transform(graphs[:3])  # compiles
    seconds = best_of_a_second(lambda: native(kind, graphs).fit_transform(graphs))
    record = {"what": "grakel", "kernel": kind, "set": data.name, "n_graphs": len(graphs)}
    record["seconds"] = seconds
    yield record | {"grakel_seconds": None, "difference": None}
    ours, theirs = native(kind, graphs).fit_transform(graphs), grakel_graphs(graphs)
    yield "begin"
    found, seconds = timed(lambda: of_grakel(kind, None, graphs.n_attributes).fit_transform(theirs))
    if seconds < 1:
        seconds = best_of_a_second(
            lambda: of_grakel(kind, None, graphs.n_attributes).fit_transform(theirs)
        )
    difference = float(np.abs(ours - np.nan_to_num(found)).max()) if kind[:2] != "GK" else None
    record |= {"grakel_seconds": seconds, "difference": difference}
    yield record
    if kind == "WL":
        _, in_all = timed(lambda: of_grakel(kind, -1).fit_transform(theirs))
        yield record | {"grakel_seconds": min(seconds, in_all)}


def large(folder, kind, setting):
    from retgk._runtime.processes import peak_megabytes

    data, graphs = loaded(folder, setting)
    native(kind, graphs).fit_transform(graphs[:3])
    before = peak_megabytes()
    _, seconds = timed(lambda: native(kind, graphs).fit_transform(graphs))
    record = {"what": "large", "kernel": kind, "set": data.name, "n_graphs": len(graphs)}
    record |= {"seconds": seconds, "graphs_megabytes": round(before)}
    yield record | {"peak_megabytes": round(peak_megabytes())}


def growth(folder, kind, setting):
    data, graphs = loaded(folder, setting)
    graphs = graphs[np.random.default_rng(0).permutation(len(graphs))]
    sizes = [len(graphs) // 8, len(graphs) // 4, len(graphs) // 2, len(graphs)]
    native(kind, graphs).fit_transform(graphs[:3])
    times = [best_time(lambda n=n: native(kind, graphs).fit_transform(graphs[:n])) for n in sizes]
    exponent = float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
    record = {"what": "growth", "kernel": kind, "set": data.name, "n_graphs": sizes}
    yield record | {"seconds": times, "exponent": exponent}


MEASURES = {"grakel": beside_grakel, "large": large, "growth": growth}


def measured(folder, part, kind, setting, cap):
    """Last record of a process, which is killed if GraKeL takes longer than the cap."""
    command = [sys.executable, "-m", "benchmarks.bench_peers", folder, "--one", part, kind, setting]
    # not buffered: a line that is read ahead would not be seen by select
    process = subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0)
    record, deadline = None, None
    try:
        selector = selectors.DefaultSelector()
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
            if not selector.select(left):
                break
            line = process.stdout.readline()
            if not line:
                break
            if json.loads(line) == "begin":
                deadline = time.monotonic() + cap
            else:
                record = json.loads(line)
    finally:
        process.kill()
        code = process.wait()
    if record is None:
        raise RuntimeError(f"{' '.join(command)} ended with code {code} and without a record")
    return record | ({"cap": cap} if part == "grakel" else {})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--cap", type=float, default=300.0, help="seconds for GraKeL")
    parser.add_argument("--parts", nargs="*", choices=MEASURES, default=list(MEASURES))
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--attribute-sets", nargs="*", default=ATTRIBUTE_SETS)
    parser.add_argument("--kernels", nargs="*", default=KERNELS)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        warnings.simplefilter("ignore")  # GraKeL's
        part, kind, setting = options.one
        for record in MEASURES[part](options.folder, kind, setting):
            print(json.dumps(record), flush=True)
        return
    jobs = {
        "grakel": [
            *(
                (kind, setting)
                for setting in options.sets
                for kind in options.kernels
                if kind != "CSM" or setting not in WITHOUT_CSM
            ),
            *((WITH_ATTRIBUTES, setting) for setting in options.attribute_sets),
        ],
        "large": LARGE,
        "growth": GROWTH,
    }
    for part in options.parts:
        for kind, setting in jobs[part]:
            record = measured(options.folder, part, kind, setting, options.cap)
            print(record, flush=True)
            add_record("peers", record, "what", "kernel", "set")


if __name__ == "__main__":
    main()
