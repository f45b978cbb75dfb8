"""Two versions of retgk in one run, in turns: is the new one as fast as the old one?

    python -m benchmarks.compare_versions FOLDER --old OLD/.venv/bin/python [--sets MUTAG,NCI1]

Each version has a process of its own, which warms up first and then waits for its turn. The two
measure the same job one after the other, the first of them changing from round to round, so that
both meet the same state of the machine. Ratios are old / new: above 1 the new version is faster.
Short jobs are called several times in one measurement. Only public names are used.
"""

import argparse
import gc
import json
import sys
import time
import warnings
from datetime import UTC, datetime
from pathlib import Path
from statistics import geometric_mean, median

import retgk
from benchmarks.interpreters import Version, answer_lines

SETS = ("MUTAG", "NCI1", "DD", "REDDIT-BINARY", "COLLAB")
SECONDS_PER_JOB = 6.0  # of both versions together
SECONDS_PER_MEASUREMENT = 0.1
REPEATS = (3, 30)
LEAST_RATIO = 0.95
EXACT_STRIDE = {"REDDIT-BINARY": 4, "COLLAB": 4}  # all graphs would take half a minute
PEER_STRIDE = {"NCI1": 4, "DD": 20, "REDDIT-BINARY": 40, "COLLAB": 40}
MODEL_STRIDE = {"NCI1": 10, "DD": 10, "REDDIT-BINARY": 20, "COLLAB": 40}


def jobs_on(folder, name, n_jobs):
    """What is measured on a set, by name; the data are in memory except for reading."""

    def read():
        return retgk.datasets.load_tudataset(name, data_home=folder, download=False, cache=False)

    data = read()
    graphs = data.graphs
    some = graphs[:: EXACT_STRIDE.get(name, 1)]
    few = graphs[:: PEER_STRIDE.get(name, 1)]
    step = MODEL_STRIDE.get(name, 1)
    fewer, y = graphs[::step], data.targets[::step]
    options = {"random_state": 0, "n_jobs": n_jobs}
    model = retgk.GraphClassifier(**options).fit(fewer, y)

    def embed():
        embedding = retgk.kernels.RetGKEmbedding(
            feature_map="joint", n_components=200, sparse_output=True, **options
        )
        kernel = retgk.kernels.ExponentialGraphKernel()
        return retgk.kernels.embedding_gram(
            embedding.fit_transform(graphs), kernel=kernel, n_jobs=n_jobs
        )

    def test():
        sample, others = fewer[y == y[0]], fewer[y != y[0]]
        return retgk.two_sample_test(sample, others, n_permutations=199, n_jobs=n_jobs, rng=0)

    peers = {
        "WL": retgk.kernels.WeisfeilerLehman(n_jobs=n_jobs),
        "WL assignment": retgk.kernels.WeisfeilerLehmanOA(n_jobs=n_jobs),
        "SP": retgk.kernels.ShortestPath(n_jobs=n_jobs),
        "graphlets": retgk.kernels.Graphlets(4, n_jobs=n_jobs),
        "drawn graphlets": retgk.kernels.Graphlets(5, n_samples=500, **options),
        "subgraph matching": retgk.kernels.SubgraphMatching(3, n_jobs=n_jobs),
        "graph invariants": retgk.kernels.GraphInvariant(1, attributes=None, n_jobs=n_jobs),
    }
    return {
        **({"reading": read} if n_jobs == 1 else {}),
        "return probabilities": lambda: retgk.return_probabilities(graphs, n_jobs=n_jobs),
        "Monte Carlo walks": lambda: retgk.return_probabilities(
            some, method="monte-carlo", n_walks=50, n_jobs=n_jobs, rng=0
        ),
        "exact kernel": lambda: retgk.RetGK(**options).fit(some).inner_products_,
        "a tenth against all": lambda: (
            retgk.RetGK(graph_kernel=retgk.kernels.PolynomialGraphKernel(), **options)
            .fit(some)
            .transform(some[::10])
        ),
        "vectors": lambda: retgk.kernels.RetGKEmbedding(n_components=512, **options).fit_transform(
            graphs
        ),
        "joint embedding and its gram": embed,
        "refinement": lambda: retgk.kernels.refined_labels(graphs, n_jobs=n_jobs),
        "fit and predict": lambda: retgk.GraphClassifier(**options).fit(fewer, y).predict(fewer),
        "explaining": lambda: model.explain(fewer[:50]),
        "two-sample test": test,
        **{
            label: (lambda kernel=kernel: kernel.fit_transform(few))
            for label, kernel in peers.items()
        },
    }


def seconds_per_call(job, n_calls):
    """Wall and processor seconds of one call, the mean of some that follow each other."""
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(n_calls):
        job()
    walls, cpus = time.perf_counter() - wall, time.process_time() - cpu
    return {"wall": walls / n_calls, "cpu": cpus / n_calls}


def work(folder):
    warnings.simplefilter("ignore")
    jobs = {}

    def answer(question):
        if "set" in question:
            jobs.clear()
            jobs.update(jobs_on(folder, question["set"], question["n_jobs"]))
            return list(jobs)
        return seconds_per_call(jobs[question["job"]], question["n_calls"])

    answer_lines(answer)


def measurements(old, new, job, repeats):
    """Seconds of both versions, in turns, and how many calls one measurement has."""
    for version in (old, new):
        version.ask({"job": job, "n_calls": 1})  # warms up, or compiles
    seconds = max(version.ask({"job": job, "n_calls": 1})["wall"] for version in (old, new))
    n_calls = max(1, round(SECONDS_PER_MEASUREMENT / seconds))
    affordable = round(SECONDS_PER_JOB / (2 * n_calls * seconds))
    found = {old: [], new: []}
    for i in range(repeats or min(max(affordable, REPEATS[0]), REPEATS[1])):
        for version in (old, new) if i % 2 == 0 else (new, old):
            found[version].append(version.ask({"job": job, "n_calls": n_calls}))
    return found[old], found[new], n_calls


def record_of(old, new, name, job, n_jobs, repeats):
    """Times and ratios of one job on one set."""
    olds, news, n_calls = measurements(old, new, job, repeats)
    record = {"set": name, "job": job, "n_jobs": n_jobs, "repeats": len(olds), "n_calls": n_calls}
    for kind in ("wall", "cpu"):
        for of, statistic in (("min", min), ("median", median)):
            times = [statistic(row[kind] for row in rows) for rows in (olds, news)]
            record[f"old_{kind}_{of}"], record[f"new_{kind}_{of}"] = times
            record[f"{kind}_{of}_ratio"] = times[0] / times[1]
    return record


def print_record(record):
    print(
        f"{record['set']:14} {record['job']:30} {record['n_jobs']:2} "
        f"{record['repeats']:3} x {record['n_calls']:<3} "
        f"{1e3 * record['old_wall_min']:9.2f} {1e3 * record['new_wall_min']:9.2f}  "
        f"{record['wall_min_ratio']:6.3f} {record['wall_median_ratio']:6.3f}  "
        f"{record['cpu_min_ratio']:6.3f} {record['cpu_median_ratio']:6.3f}",
        flush=True,
    )


def compare(old, new, sets, threads, repeats):
    """Records of all jobs on all sets, printed as they come."""
    print(f"{'':57} wall, ms (least)    old / new: wall       processor")
    print(f"{'set':14} {'job':30} threads, repeats {'old':>5} {'new':>9}   least median", end="")
    print("   least median")
    records = []
    for name in sets:
        for n_jobs in threads:
            jobs, _ = (version.ask({"set": name, "n_jobs": n_jobs}) for version in (old, new))
            for job in jobs:
                records.append(record_of(old, new, name, job, n_jobs, repeats))
                print_record(records[-1])
    ratios = [record["wall_min_ratio"] for record in records]
    slower = sum(ratio < LEAST_RATIO for ratio in ratios)
    print(
        f"ratios of least wall times: geometric mean {geometric_mean(ratios):.3f}, "
        f"least {min(ratios):.3f}, below {LEAST_RATIO}: {slower} of {len(ratios)}"
    )
    return records


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="holds the sets as zip files")
    parser.add_argument("--old", help="interpreter that has the old retgk")
    parser.add_argument("--new", default=sys.executable, help="interpreter that has the new one")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--repeats", type=int, help="by default about a minute for five jobs")
    parser.add_argument("-o", "--output", type=Path, help="write the records here, as JSON")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    folder = options.folder.resolve()
    if options.work:
        return work(folder)
    program = "benchmarks.compare_versions"
    old, new = (Version(path, program, folder) for path in (options.old, options.new))
    threads = [int(n) for n in options.threads.split(",")]
    records = compare(old, new, options.sets.split(","), threads, options.repeats)
    if options.output:
        from benchmarks.records import machine  # an old version has no part of it

        run = {"date": datetime.now(UTC).date().isoformat(), **machine()}
        options.output.write_text(json.dumps({"run": run, "records": records}, indent=1) + "\n")
    return None


if __name__ == "__main__":
    main()
