"""Processor seconds of the first `RetGKClassifier().fit`, where nothing is compiled yet.

    python -m benchmarks.bench_start FOLDER [--repetitions N] [--label TEXT]

A fresh interpreter with a fresh NUMBA_CACHE_DIR fits MUTAG, and tells how long it compiled each
function, without the functions that this one calls; then another one fits with what is
compiled. What numba itself needs before it compiles anything is measured by a function that does
nothing. Of several repetitions, the quickest counts. Runs on old code too: give its folders in
PYTHONPATH, and a label.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

from benchmarks.records import add_record

PROGRAM = """
import json, sys, time
start = time.process_time()
from numba import njit
from numba.core import event

class Stopwatch(event.Listener):
    def __init__(self):
        self.running, self.seconds, self.compiled = [], {}, {}

    def on_start(self, event):
        self.running.append([time.thread_time(), 0.0])

    def on_end(self, event):
        begin, nested = self.running.pop()
        spent = time.thread_time() - begin
        if self.running:
            self.running[-1][1] += spent
        function = event.data["dispatcher"].py_func
        name = f"{function.__module__}.{function.__qualname__}"
        self.seconds[name] = self.seconds.get(name, 0.0) + spent - nested
        self.compiled[name] = self.compiled.get(name, 0) + 1

imported = time.process_time()
njit(lambda x: x)(1.0)
numba_ready = time.process_time()
from retgk import RetGKClassifier, load_tudataset
data = load_tudataset("MUTAG", data_home=sys.argv[1], download=False)
data.graphs[:2]
loaded = time.process_time()
stopwatch = Stopwatch()
with event.install_listener("numba:compile", stopwatch):
    RetGKClassifier(random_state=0).fit(data)
done = time.process_time()
print(json.dumps({
    "numba": imported - start + numba_ready - imported,
    "fit": done - loaded,
    "compiling": sum(stopwatch.seconds.values()),
    "functions": stopwatch.seconds,
    "signatures": stopwatch.compiled,
}))
"""


def run(folder, cache):
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    command = [sys.executable, "-c", PROGRAM, folder]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def first_and_second(folder):
    """Measurements of a first fit, and of one that finds everything compiled."""
    with tempfile.TemporaryDirectory() as cache:
        return run(folder, cache), run(folder, cache)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--label", default="this version")
    options = parser.parse_args()
    runs = [first_and_second(options.folder) for _ in range(options.repetitions)]
    first, second = min(runs, key=lambda pair: pair[0]["fit"])
    for name, seconds in sorted(first["functions"].items(), key=lambda item: -item[1]):
        print(f"{seconds:6.2f} s  {first['signatures'][name]:2}  {name}")
    compiling, n_compiled = first["compiling"], sum(first["signatures"].values())
    print(f"{compiling:6.2f} s compiling {n_compiled} signatures of {len(first['functions'])}")
    print(f"{first['fit']:6.2f} s the first fit, {second['fit']:.2f} s with what is compiled")
    print(f"{first['numba']:6.2f} s before: numba's import, and what it loads to compile")
    record = {"label": options.label, **first, "second_fit": second["fit"]}
    add_record("start", record, "label")


if __name__ == "__main__":
    main()
