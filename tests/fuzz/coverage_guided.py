"""
Inputs guided by the coverage of the readers, by atheris (libFuzzer for Python).

    python -m tests.fuzz.coverage_guided --seconds 1800 [--only tu-zip,model] [--keep FOLDER]

Each target has a process of its own and its share of the time. Half of the mutations are those of
`tests.fuzz.mutations`, which know the format; the other half are libFuzzer's. A raw exception, a
crash, 25 s or 3 GB end the target with exit 1, and the input is kept in FOLDER.
"""

import argparse
import subprocess
import sys
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np

INSTRUMENTED = ["retgk", "csv", "gzip", "zipfile"]
OF_SEVERAL_FILES = {"tu-folder", "gram"}  # whose bytes are a JSON document of them
MOST_MUTATED = 1000  # bytes: some mutations multiply what they get
LIMITS = ["-timeout=25", "-rss_limit_mb=3000", "-max_len=10000", "-print_final_stats=0"]


def fuzz_one(name, seconds, folder):
    """Fuzz one target until the time is over; libFuzzer ends the process."""
    import atheris

    with atheris.instrument_imports(include=INSTRUMENTED):
        from retgk.errors import InvalidInputError
        from tests.fuzz.seed_files import seed_file
        from tests.fuzz.targets import TARGETS, empty_folder

    warnings.simplefilter("ignore")
    target = next(target for target in TARGETS if target.name == name)
    honest = seed_file(name, empty_folder(folder / "seeds"))
    ways = target.changes + target.damages
    corpus = empty_folder(folder / "corpus")
    (corpus / "honest").write_bytes(honest)

    def read(data):
        with suppress(InvalidInputError):
            target.read(data, empty_folder(folder / "place"))

    def mutate(data, most, seed):
        rng = np.random.default_rng(seed)
        if len(data) > MOST_MUTATED or rng.integers(2):
            return atheris.Mutate(data, most)
        try:
            return ways[int(rng.integers(len(ways)))](data, rng)[:most]
        except Exception:  # the format is broken already
            return atheris.Mutate(data, most)

    limits = [*LIMITS, f"-max_total_time={seconds}", f"-artifact_prefix={folder}/failure-"]
    atheris.Setup([sys.argv[0], *limits, str(corpus)], read, custom_mutator=mutate)
    atheris.Fuzz()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=1800)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"))
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    if given.folder is not None:
        fuzz_one(given.only, given.seconds, given.folder)  # imports what it instruments
        return
    from tests.fuzz.targets import TARGETS

    names = [target.name for target in TARGETS if target.name not in OF_SEVERAL_FILES]
    names = given.only.split(",") if given.only else names
    failed = []
    for name in names:
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            share = str(max(given.seconds // len(names), 1))
            command = [sys.executable, "-m", "tests.fuzz.coverage_guided", "--only", name]
            command += ["--seconds", share, "--folder", folder]
            ran = subprocess.run(command, capture_output=True, text=True, check=False)
            said = [line for line in ran.stderr.splitlines() if line.strip()]
            done = next((line for line in said if line.startswith("Done ")), "")
            print(f"{name}: exit code {ran.returncode}; {done}", flush=True)
            if ran.returncode:
                failed.append(name)
                print("\n".join(said[-25:]), flush=True)
                for path in Path(folder).glob("failure-*"):
                    given.keep.mkdir(parents=True, exist_ok=True)
                    (given.keep / f"{name}-{path.name}").write_bytes(path.read_bytes())
    sys.exit(f"failures: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
