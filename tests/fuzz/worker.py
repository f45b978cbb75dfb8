"""
One batch of inputs in a process of its own, as a crash must not end the campaign.

    python -m tests.fuzz.worker TARGET[,TARGET...] SEED FIRST COUNT FOLDER

Prints one JSON object for each input before it is read, and one after. The input itself lies in
FOLDER/input while it is read.
"""

import json
import resource
import signal
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from retgk._runtime.processes import peak_megabytes
from retgk.errors import InputWarning, InvalidInputError
from tests.fuzz.mutations import flip_bits
from tests.fuzz.seed_files import seed_file
from tests.fuzz.targets import TARGETS, empty_folder

SECONDS = 20  # of the processor, whatever else the machine does
MEGABYTES = 500
ADDRESS_SPACE = 3 << 30
DESCRIPTION = 300


class OverTimeError(BaseException):
    """An input took longer than any may take."""


def on_alarm(*_):
    raise OverTimeError


def reset_peak():
    """Forget the peak of memory so far, and tell what is in use."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak_megabytes()


def input_of(target, honest, rng):
    """A mutated input, and whether it must be read as the honest one or not at all."""
    ways = [(way, False) for way in target.changes] + [(way, True) for way in target.damages]
    if target.damages and target.changes and rng.integers(2):
        ways = [way for way in ways if way[1]]
    way, is_damage = ways[int(rng.integers(len(ways)))]
    try:
        return way(honest, rng), is_damage, way.__name__
    except Exception:  # what cannot be written cannot be read
        return flip_bits(honest, rng), bool(target.damages), "flip_bits"


def outcome(target, data, folder):
    """Verdict and details of one input."""
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            result = target.read(data, empty_folder(folder / "place"))
        if any(issubclass(warning.category, InputWarning) for warning in told):
            return "told", str(told[0].message)
    except InvalidInputError as error:
        return "refused", str(error)[:DESCRIPTION]
    except OverTimeError:
        return "slow", f"more than {SECONDS} s"
    except BaseException as error:  # the very thing that is looked for
        return "raw", f"{type(error).__name__}: {error}"[:DESCRIPTION]
    return ("refused", "") if result is None else ("read", result)


def run(target, honest, expected, seed, number, folder):
    """Try one input; a dict for the report."""
    rng = np.random.default_rng([seed, number, TARGETS.index(target)])
    data, is_damage, way = input_of(target, honest, rng)
    (folder / "input").write_bytes(data)
    print(json.dumps({"target": target.name, "number": number, "way": way}), flush=True)
    before, start = reset_peak(), time.process_time()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    verdict, detail = outcome(target, data, folder)
    signal.setitimer(signal.ITIMER_PROF, 0)
    megabytes = peak_megabytes() - before
    if verdict == "read" and is_damage and detail != expected:
        verdict = "other data"
    verdict = "read" if verdict == "told" else verdict
    if verdict in ("read", "refused") and megabytes > MEGABYTES:
        verdict = "memory"
    if target.by_library and "MemoryError" in str(detail):
        verdict = "memory"
    seconds = time.process_time() - start
    return {
        "target": target.name, "number": number, "way": way, "verdict": verdict, "detail": detail,
        "seconds": round(seconds, 2), "megabytes": round(megabytes), "bytes": len(data),
    }  # fmt: skip


def limit_memory():
    """Let an allocation far beyond the budget fail, so that the machine survives it."""
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (in_use + ADDRESS_SPACE, hard))


def main(names, seed, first, count, folder):
    warnings.simplefilter("ignore")
    folder = Path(folder)
    signal.signal(signal.SIGPROF, on_alarm)
    for target in (target for target in TARGETS if target.name in names.split(",")):
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
        honest = seed_file(target.name, empty_folder(folder / "seeds"))
        expected = target.read(honest, empty_folder(folder / "place"))
        limit_memory()
        for number in range(int(first), int(first) + int(count)):
            print(json.dumps(run(target, honest, expected, int(seed), number, folder)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
