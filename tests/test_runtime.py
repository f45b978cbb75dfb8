"""Threads that are kept: every task once, errors passed on, nothing that hangs."""

import math
import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from joblib import Parallel, cpu_count, delayed

from retgk import GraphBatch
from retgk._runtime import processes as limited_processes
from retgk._runtime import processes as memory
from retgk._runtime.parallel import n_threads, run_tasks
from retgk._runtime.processes import (
    ProcessEnd,
    ProcessLimits,
    is_lack_of_memory,
    limit_memory,
    n_processes,
    ordered_results,
    peak_megabytes,
    recorded_peak_megabytes,
    run_to_end,
    tells_of_memory,
    time_limit,
)
from retgk.errors import InputWarning, InvalidInputError
from retgk.graphs.batch import flat_arrays
from tests.errors import fails


def run_silently(function, tasks, n_jobs):
    run_tasks(function, tasks, [1.0] * len(tasks), n_jobs, lambda _: None)


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_every_task_runs_once(n_jobs):
    done = []
    run_silently(done.append, [(i,) for i in range(200)], n_jobs)
    assert sorted(done) == list(range(200))


def test_the_dearest_come_first_and_progress_adds_up():
    done, advanced = [], []
    run_tasks(done.append, [(0,), (1,), (2,)], [1.0, 3.0, 2.0], 1, advanced.append)
    assert done == [1, 2, 0]
    assert sum(advanced) == 6.0


def test_no_tasks_are_no_work():
    run_silently(lambda: pytest.fail("there is no task"), [], 2)


def test_threads_are_used_and_kept():
    barrier = threading.Barrier(3, timeout=20)
    run_silently(barrier.wait, [()] * 3, 3)  # passes only if three tasks run at a time
    before = threading.enumerate()
    run_silently(barrier.wait, [()] * 3, 3)
    assert threading.enumerate() == before


def test_tasks_may_run_tasks():
    done = []

    def outer(i):
        run_silently(lambda j: done.append((i, j)), [(j,) for j in range(5)], 3)

    run_silently(outer, [(i,) for i in range(20)], 3)
    assert sorted(done) == [(i, j) for i in range(20) for j in range(5)]


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_an_error_stops_the_rest_and_is_raised(n_jobs):
    done = []

    def work(i):
        if i == 3:
            raise InvalidInputError("graph 3 is broken")
        time.sleep(0.001)
        done.append(i)

    fails(lambda: run_silently(work, [(i,) for i in range(1000)], n_jobs), about="graph 3")
    assert len(done) < 1000
    run_silently(done.append, [(-1,)] * 2, n_jobs)
    assert done.count(-1) == 2


def test_concurrent_callers_share_the_threads():
    done = []

    def call(i):
        run_silently(lambda j: done.append((i, j)), [(j,) for j in range(50)], 2 + i % 3)

    callers = [threading.Thread(target=call, args=(i,)) for i in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
    assert len(done) == 400


SCRIPT = """
import os, sys, warnings
from retgk._runtime.parallel import run_tasks
warnings.simplefilter("ignore", DeprecationWarning)  # of fork where there are threads
done = []
def run():
    run_tasks(lambda i: done.append(i), [(i,) for i in range(9)], [1.0] * 9, 3, lambda _: None)
run()
child = os.fork()
run()
if child:
    status = os.waitpid(child, 0)[1]
    sys.exit(status or len(done) != 18)
sys.exit(len(done) != 18)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_forked_processes_and_exit_do_not_hang():
    subprocess.run([sys.executable, "-c", SCRIPT], check=True, timeout=60)


BLAS_SCRIPT = """
import os, signal, sys, threading, time, warnings
import numpy as np
from threadpoolctl import ThreadpoolController
from retgk._runtime.parallel import single_threaded_blas
warnings.simplefilter("ignore", DeprecationWarning)  # of fork where there are threads
controller = ThreadpoolController().select(user_api="blas")
controller.limit(limits=3)
def sizes():
    return {library["num_threads"] for library in controller.info()}
def loop():
    while True:
        with single_threaded_blas():
            pass  # a product would hold locks of BLAS itself, which a fork cannot wait for
def live():
    signal.alarm(20)  # ends a child that hangs
    assert sizes() == {3}, sizes()
    with single_threaded_blas():
        assert sizes() == {1}, sizes()
        np.ones((300, 300)) @ np.ones((300, 300))
    assert sizes() == {3}, sizes()
with single_threaded_blas():
    child = os.fork()
    assert sizes() == {1}  # this thread asked for it, in both processes
if child == 0:
    live()
    os._exit(0)
statuses = [os.waitpid(child, 0)[1]]
threading.Thread(target=loop, daemon=True).start()
end = time.monotonic() + 30  # on a busy machine, a fork takes OpenBLAS seconds
while len(statuses) < 60 and time.monotonic() < end:
    child = os.fork()
    if child == 0:
        try:
            live()
            os._exit(0)
        finally:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
    statuses.append(os.waitpid(child, 0)[1])
    if statuses[-1]:
        break
print(statuses, flush=True)
os._exit(any(statuses))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_forked_processes_have_their_own_limit_of_blas():
    command = [sys.executable, "-c", BLAS_SCRIPT]
    done = subprocess.run(command, timeout=120, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr


@pytest.mark.slow
def test_work_at_exit_needs_no_thread():
    script = (
        "import atexit\nfrom retgk._runtime.parallel import run_tasks\n"
        "run = lambda: run_tasks(print, [(1,), (2,)], [1.0, 1.0], 2, lambda _: None)\n"
        "atexit.register(run)\n"
    )
    command = [sys.executable, "-c", script]
    found = subprocess.run(command, check=True, timeout=60, capture_output=True, text=True)
    assert sorted(found.stdout.split()) == ["1", "2"]
    assert found.stderr == ""


INTERRUPTED_SCRIPT = """
import sys, threading
import retgk
graphs = retgk.datasets.make_graph_classification(200, rng=0).graphs
start = threading.Thread.start
def interrupted(thread):
    threading.Thread.start = start
    start(thread)
    raise KeyboardInterrupt
threading.Thread.start = interrupted
try:
    retgk.return_probabilities(graphs, n_jobs=2)
except KeyboardInterrupt:
    sys.exit(7)
"""


@pytest.mark.slow
def test_an_interrupt_while_a_thread_starts_does_not_hang_the_end():
    command = [sys.executable, "-c", INTERRUPTED_SCRIPT]
    done = subprocess.run(command, timeout=30, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (7, "")


EXIT_SCRIPT = """
import sys, threading, time
import retgk
graphs = retgk.datasets.make_graph_classification(200, rng=0).graphs
try:  # which aborts too, by itself
    import numpy.lib._arraysetops_impl as sets
    sets._unique_hash = lambda *_, **__: NotImplemented
except ImportError:
    pass
def loop():
    while True:
        retgk.return_probabilities(graphs, n_jobs=2)
for _ in range(4):
    threading.Thread(target=loop, daemon=True).start()
time.sleep(0.5)
sys.exit(7)
"""


@pytest.mark.slow
def test_exit_in_the_middle_of_work_of_daemon_threads():
    """Their stacks are unwound when they ask for the GIL, which noexcept destructors abort."""
    for _ in range(5):
        command = [sys.executable, "-c", EXIT_SCRIPT]
        done = subprocess.run(command, timeout=60, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (7, "")


def test_n_threads():
    cores = cpu_count()
    assert [n_threads(n) for n in (None, 1, 7, -1)] == [cores, 1, 7, cores]
    assert [n_threads(n) for n in (-2, -1 - cores, -9 - cores)] == [max(1, cores - 1), 1, 1]
    fails(lambda: n_threads(0), about="n_jobs=0")
    fails(lambda: n_threads(2.5), about="2.5")


def answers(n_workers, n_jobs, backend="threading"):
    return Parallel(n_workers, backend=backend)(delayed(n_threads)(n_jobs) for _ in range(3))


def test_workers_of_joblib_share_the_cores():
    cores = cpu_count()
    assert answers(2, None) == [1, 1, 1]
    assert answers(2, 3) == [3, 3, 3]
    assert answers(2, -1) == [cores] * 3
    assert answers(1, None) == [cores] * 3  # joblib starts no worker
    assert n_threads(None) == cores


@pytest.mark.slow
@pytest.mark.skipif(n_threads(None) == 1, reason="with one core None is one thread anyway")
def test_processes_of_joblib_share_the_cores():
    assert answers(2, None, backend="loky") == [1, 1, 1]


# Work in other processes: order, errors, warnings, killed workers, and what is left behind


def slow_square(number: int) -> tuple[int, int]:
    time.sleep(0.2 if number == 0 else 0.0)  # the first piece is done last
    return number**2, os.getpid()


def failing(number: int) -> int:
    if number == 3:
        raise InvalidInputError("piece 3 is bad; mend it")
    warnings.warn(InputWarning(f"piece {number}"), stacklevel=2)
    return number


def killed(number: int) -> int:
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def own_process(_: int) -> int:
    return os.getpid()


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
def test_results_are_in_order_and_read_ahead_is_bounded() -> None:
    taken: list[int] = []

    def pieces() -> Iterator[tuple[int]]:
        for number in range(100):
            taken.append(number)
            yield (number,)

    results = ordered_results(slow_square, pieces(), 2)
    found = [next(results) for _ in range(4)]
    assert [square for square, _ in found] == [0, 1, 4, 9]
    assert len(taken) <= 10
    workers = {process for _, process in found}
    assert os.getpid() not in workers
    results.close()  # type: ignore[attr-defined]
    assert not any(map(is_alive, workers))


@pytest.mark.slow
def test_errors_come_in_their_turn_and_warnings_come_through() -> None:
    results = ordered_results(failing, [(number,) for number in range(5)], 2)
    with pytest.warns(InputWarning, match="piece 0"):
        assert next(results) == 0
    with pytest.warns(InputWarning, match="piece [12]"):
        assert [next(results), next(results)] == [1, 2]
    fails(lambda: next(results), about="piece 3")


@pytest.mark.slow
def test_a_killed_process_is_an_error_that_says_so() -> None:
    with pytest.raises(ChildProcessError, match=r"one of 2 processes .* was killed"):
        list(ordered_results(killed, [(number,) for number in range(8)], 2))


@pytest.mark.parametrize(("n_pieces", "n_jobs"), [(2, 2), (9, None), (9, 1)])
def test_short_work_starts_no_process(n_pieces: int, n_jobs: int | None) -> None:
    found = list(ordered_results(own_process, [(number,) for number in range(n_pieces)], n_jobs))
    assert found == [os.getpid()] * n_pieces


@pytest.mark.slow
def test_one_process_inside_workers_of_joblib() -> None:
    assert Parallel(n_jobs=2)(delayed(n_processes)(n) for n in (-1, 2, None)) == [1, 1, 1]
    assert n_processes(3) == 3
    assert n_processes(None) == 1


# Processes that are followed to their end: no line is lost, and nothing waits for ever

needs_sessions = pytest.mark.skipif(sys.platform == "win32", reason="needs sessions of POSIX")


def run(code, patience=60.0):
    return run_to_end([sys.executable, "-c", code], patience)


@pytest.mark.slow
def test_no_line_is_lost():
    end = run("for i in range(20000): print(i)")
    assert end.lines == [str(i) for i in range(20000)]
    assert end.succeeded


def test_a_last_line_without_an_end_counts():
    assert run("print('a'); print('b', end='')").lines == ["a", "b"]


@pytest.mark.slow
def test_a_process_may_close_its_output_before_it_ends():
    end = run("import os, time; print('a', flush=True); os.close(1); time.sleep(0.5); os._exit(3)")
    assert (end.code, end.lines, end.is_late) == (3, ["a"], False)


@pytest.mark.slow
def test_a_process_that_closed_its_output_is_late_too():
    code = "import os, time; print('a', flush=True); os.close(1); time.sleep(600)"
    assert run(code, patience=2.0).is_late


@pytest.mark.slow
@needs_sessions
@pytest.mark.parametrize("work", ["sleep 60", "while sleep 0.1; do echo more; done"])
def test_what_a_process_leaves_behind_is_ended(work):
    """It keeps the output open, and may write to it as long as it lives."""
    end = run(_left_behind(work, session=False))
    assert end.succeeded
    assert any(line.isdecimal() for line in end.lines)
    assert end.lines.count("more") < 100  # of 600


@pytest.mark.slow
@needs_sessions
@pytest.mark.parametrize("work", ["sleep 60", "while sleep 0.1; do echo more; done"])
def test_what_left_the_session_is_not_waited_for(monkeypatch, work):
    monkeypatch.setattr(limited_processes, "_LAST_LINES_SECONDS", 1.0)
    end = run(_left_behind(work, session=True))
    assert end.succeeded
    number = next(line for line in end.lines if line.isdecimal())
    os.kill(int(number), signal.SIGTERM)  # it is still there


def _left_behind(work, session):
    """Program that starts another one, says its number, and ends."""
    return f"""
import subprocess
command = ["timeout", "60", "sh", "-c", {work!r}]
print(subprocess.Popen(command, start_new_session={session}).pid)
"""


@needs_sessions
def test_a_lower_limit_of_memory_from_outside_stays(monkeypatch):
    resource = pytest.importorskip("resource")
    found = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 30, 1 << 30))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: found.append(limits))
    limit_memory(8000)
    limit_memory(100)
    assert found == [(1 << 30, 1 << 30), (100 << 20, 100 << 20)]


@needs_sessions
def test_time_that_is_limited_ends_with_an_error_too():
    with pytest.raises(ValueError, match="odd"), time_limit(600):
        raise ValueError("odd")
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


@pytest.mark.parametrize(
    "message",
    [
        "MemoryError",
        "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 1.00 GiB for an array",
        "  what():  std::bad_alloc",
        "OSError: [Errno 12] Cannot allocate memory",
        "LLVM ERROR: out of memory",
        "OpenBLAS error: Memory allocation still failed after 10 retries, giving up.",
        "ImportError: libblas.so: failed to map segment from shared object",
        "RuntimeError: can't start new thread",
    ],
)
def test_signs_of_a_lack_of_memory(message):
    assert tells_of_memory(message)
    end = ProcessEnd(1, [], f"Traceback\n{message}\n", False)
    assert end.reason(ProcessLimits(5, 100)) == "did not fit into 100 MB"


@pytest.mark.parametrize(
    "message",
    [
        "ValueError: 'memory' should be None, a string or have the same interface as "
        "joblib.Memory. Got memory='5' instead.",
        "TypeError: fit() got an unexpected keyword argument 'memory'",
        "FileNotFoundError: [Errno 2] No such file: 'in_memory/graphs.csv'",
    ],
)
def test_the_word_memory_is_no_sign_of_a_lack_of_it(message):
    assert not tells_of_memory(message)
    end = ProcessEnd(1, [], f"Traceback\n{message}\n", False)
    assert not end.is_out_of_memory
    assert end.reason(ProcessLimits(5, 100)) == message


def test_errors_that_lack_of_memory_led_to():
    """A library that cannot be loaded names the cause in the error before."""
    error = OSError("Could not find/load shared object file 'libx.so'")
    assert not is_lack_of_memory(error)
    error.__context__ = OSError("libx.so: failed to map segment from shared object")
    assert is_lack_of_memory(error)


# test_memory

from_edges = GraphBatch.from_edges


def _ring_edges(n_graphs: int, n_nodes: int) -> Any:
    """Every node joined to the next five, once."""
    source, step = np.divmod(np.arange(n_nodes * 5, dtype=np.int32), 5)
    one = np.stack([source, (source + step + 1) % n_nodes], axis=1)
    return (one + n_nodes * np.arange(n_graphs, dtype=np.int32)[:, None, None]).reshape(-1, 2)


def _peak_over_final(build: Callable[[], GraphBatch]) -> float:
    tracemalloc.start()
    try:
        batch = build()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    node_ptr, adjacency, labels, _, attributes, *_ = flat_arrays(batch)
    stored = [node_ptr, *adjacency, labels, attributes]
    return peak / sum(array.nbytes for array in stored if array is not None)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["once", "both", "shuffled", "weighted", "csr", "selected"])
def test_peak_memory_is_within_twice_the_arrays(case: str) -> None:
    n_graphs, n_nodes = 60_000, 20  # big enough that the fixed cost of a block hardly counts
    sizes, once = np.full(n_graphs, n_nodes), _ring_edges(n_graphs, n_nodes)
    both = np.concatenate([once, once[:, ::-1]])
    weights = np.full(len(once), 0.5)
    batch = from_edges(sizes, once, symmetrize=True)
    rng = np.random.default_rng(0)
    order = rng.permutation(n_graphs)
    shuffled = both[rng.permutation(len(both))] if case == "shuffled" else both
    builds: dict[str, Callable[[], GraphBatch]] = {
        "once": lambda: from_edges(sizes, once, symmetrize=True),
        "both": lambda: from_edges(sizes, both),
        "shuffled": lambda: from_edges(sizes, shuffled),
        "weighted": lambda: from_edges(sizes, once, weights, symmetrize=True),
        "csr": lambda: GraphBatch(batch.node_ptr, batch.indptr, batch.indices),
        "selected": lambda: batch[order],
    }
    assert _peak_over_final(builds[case]) < 2


@pytest.fixture
def _no_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on systems other than Linux."""
    monkeypatch.setattr(memory, "_kilobytes", lambda *_: None)


@pytest.mark.usefixtures("_no_proc")
@pytest.mark.parametrize(("platform", "unit"), [("darwin", 1 << 20), ("freebsd14", 1 << 10)])
def test_peak_memory_is_in_bytes_on_macos(
    monkeypatch: pytest.MonkeyPatch, platform: str, unit: int
) -> None:
    usage = SimpleNamespace(ru_maxrss=300 * unit)
    resource = SimpleNamespace(RUSAGE_SELF=0, getrusage=lambda _: usage)
    monkeypatch.setitem(sys.modules, "resource", resource)  # type: ignore[arg-type]
    monkeypatch.setattr(sys, "platform", platform)
    assert peak_megabytes() == recorded_peak_megabytes() == 300


@pytest.mark.usefixtures("_no_proc")
def test_peak_memory_is_not_known_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resource", None)  # type: ignore[arg-type]
    assert math.isnan(peak_megabytes())
    assert recorded_peak_megabytes() is None
