"""Time of `import retgk` against `import sklearn.svm`, each in fresh interpreters.

Run: python benchmarks/bench_import.py [repetitions]
"""

import statistics
import subprocess
import sys
import time

STATEMENTS = ("pass", "import sklearn.svm", "import retgk", "from retgk import GraphBatch")


def seconds(statement: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return time.perf_counter() - start


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    for statement in STATEMENTS:  # fill the file caches
        seconds(statement)
    # one of each in turn, so that a busy machine slows all alike
    rounds = [[seconds(statement) for statement in STATEMENTS] for _ in range(repetitions)]
    medians = [statistics.median(times) for times in zip(*rounds, strict=True)]
    start, baseline = medians[:2]
    print(f"medians of {repetitions} fresh interpreters, start of Python included")
    for statement, median in zip(STATEMENTS, medians, strict=True):
        print(f"{statement:30s} {median:7.3f} s  {median / baseline:5.2f} x sklearn.svm")
    without_start = (medians[2] - start) / (baseline - start)
    print(f"import retgk / import sklearn.svm without the start of Python: {without_start:.3f}")


if __name__ == "__main__":
    main()
