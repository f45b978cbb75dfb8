"""Jobs of one version of retgk, run on command: the other end of benchmarks.compare_versions.

    PYTHONPATH=SOURCES python -m benchmarks.compare_versions_worker FOLDER

Every line of input is a command in JSON, every line of output its answer. Only public names are
used, so that the same file runs on any version.
"""

import gc
import json
import os
import sys
import time
import warnings

import retgk

EXACT_STRIDE = {"REDDIT-BINARY": 4}  # all graphs would take half a minute


def jobs_on(folder, name):
    """What is measured on a set, by name; the data are in memory except for reading."""

    def read():
        return retgk.load_tudataset(name, data_home=folder, download=False, cache=False)

    graphs = read().graphs
    stride = EXACT_STRIDE.get(name, 1)
    some = graphs[::stride]
    part = "" if stride == 1 else f", every {stride}th graph"

    def embed():
        embedding = retgk.RetGKEmbedding(
            feature_map="joint", n_components=200, sparse_output=True, random_state=0
        )
        vectors = embedding.fit_transform(graphs)
        return retgk.embedding_gram(vectors, kernel=retgk.ExponentialGraphKernel())

    return {
        "reading": read,
        "return probabilities": lambda: retgk.return_probabilities(graphs),
        f"exact kernel{part}": lambda: retgk.RetGKKernel(random_state=0).fit(some).inner_products_,
        f"a tenth against all{part}": lambda: retgk.mean_embedding_gram(some[::10], some),
        "embedding and its gram": embed,
    }


def seconds_per_call(job, n_calls):
    """Wall and processor seconds of one call, the mean of some that follow each other."""
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(n_calls):
        job()
    walls, cpus = time.perf_counter() - wall, time.process_time() - cpu
    return {"wall": walls / n_calls, "cpu": cpus / n_calls}


def main():
    folder = sys.argv[1]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the jobs print stays out of the answers
    warnings.simplefilter("ignore")
    jobs = {}

    def answer(value):
        print(json.dumps(value), file=answers, flush=True)

    answer(os.path.dirname(retgk.__file__))
    for line in sys.stdin:
        command = json.loads(line)
        if "set" in command:
            jobs = jobs_on(folder, command["set"])
            answer(list(jobs))
        else:
            answer(seconds_per_call(jobs[command["job"]], command["n_calls"]))


if __name__ == "__main__":
    main()
