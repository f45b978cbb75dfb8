"""Threads that are kept: every task once, errors passed on, nothing that hangs."""

import os
import subprocess
import sys
import threading
import time

import pytest
from joblib import Parallel, cpu_count, delayed

from retgk._runtime.parallel import n_threads, run_tasks
from retgk.errors import InvalidInputError


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

    with pytest.raises(InvalidInputError, match="graph 3 is broken"):
        run_silently(work, [(i,) for i in range(1000)], n_jobs)
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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_forked_processes_have_their_own_limit_of_blas():
    command = [sys.executable, "-c", BLAS_SCRIPT]
    done = subprocess.run(command, timeout=120, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr


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
graphs = retgk.make_graph_classification(200, random_state=0).graphs
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


def test_an_interrupt_while_a_thread_starts_does_not_hang_the_end():
    command = [sys.executable, "-c", INTERRUPTED_SCRIPT]
    done = subprocess.run(command, timeout=30, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (7, "")


EXIT_SCRIPT = """
import sys, threading, time
import retgk
graphs = retgk.make_graph_classification(200, random_state=0).graphs
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
    with pytest.raises(InvalidInputError, match="n_jobs=0 asks for no thread at all"):
        n_threads(0)
    with pytest.raises(InvalidInputError, match=r"n_jobs must be None or a whole number, got 2\.5"):
        n_threads(2.5)


def answers(n_workers, n_jobs, backend="threading"):
    return Parallel(n_workers, backend=backend)(delayed(n_threads)(n_jobs) for _ in range(3))


def test_workers_of_joblib_share_the_cores():
    cores = cpu_count()
    assert answers(2, None) == [1, 1, 1]
    assert answers(2, 3) == [3, 3, 3]
    assert answers(2, -1) == [cores] * 3
    assert answers(1, None) == [cores] * 3  # joblib starts no worker
    assert n_threads(None) == cores


@pytest.mark.skipif(n_threads(None) == 1, reason="with one core None is one thread anyway")
def test_processes_of_joblib_share_the_cores():
    assert answers(2, None, backend="loky") == [1, 1, 1]
