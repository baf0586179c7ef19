"""Sweeps on any executor: this machine's processes, or the workers of others."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from functools import lru_cache, partial
from multiprocessing import popen_spawn_posix
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Any

from pagemill import _checks, _native
from pagemill._native import InputError, RunError
from pagemill._progress import bar
from pagemill._result import Result
from pagemill._scenario import Overrides, Scenario, Source

_TASKS_PER_WORKER = 4
_POINTS_PER_TASK_MAX = 32
_ATTEMPTS_MAX = 5

Part = tuple[int, bytes]
# What a task returns: its parts, or the error of one of its points.
Answer = list[Part] | Exception
Work = Callable[[Any, list[int]], Answer]


@dataclass(frozen=True)
class Task:
    """Points of one scenario, which one worker runs."""

    loaded: _native.Loaded
    store: _native.Store
    indexes: list[int]


class _Process(SpawnProcess):
    @staticmethod
    def _Popen(process_obj: BaseProcess) -> Any:
        # A new process runs the caller's script to have its functions. Tasks need none of them, and a script that sweeps
        # without asking for its name would sweep in every worker.
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            return popen_spawn_posix.Popen(process_obj)
        finally:
            sys.modules["__main__"] = main


class _Context(SpawnContext):
    Process = _Process


class _Pool(ProcessPoolExecutor):
    """Processes of this machine, which remember how they ended."""

    def __init__(self, workers: int) -> None:
        super().__init__(workers, mp_context=_Context())
        self.processes: Mapping[int, BaseProcess] = self._processes

    def ends(self) -> str:
        """How the first of them ended, in words; those that the pool itself ends get SIGTERM."""
        codes = [process.exitcode for process in list(self.processes.values())]
        causes = [code for code in codes if code not in (None, 0, -signal.SIGTERM)]
        if not causes:
            return ""
        code = causes[0]
        if code > 0:
            return f"a worker ended with exit code {code}, and says why above"
        name = signal.Signals(-code).name
        hint = ", as the kernel does where memory is short" if -code == signal.SIGKILL else ""
        return f"a worker was ended by {name}{hint}"


def tasks_of(loaded: _native.Loaded, store: _native.Store, size: int) -> list[Task]:
    """The points of a scenario that its store lacks, `size` a task."""
    missing = store.missing()
    return [Task(loaded, store, missing[start : start + size]) for start in range(0, len(missing), size)]


def keep(tasks: list[Task], executor: Executor | None, workers: int, out: str) -> Iterator[Task]:
    """Runs every task and keeps its parts; gives each task that has ended."""
    for task, parts in _run(tasks, executor, workers, out):
        for index, part in parts:
            task.store.put(index, part)
        yield task



def sweep(
    grid: Source,
    overrides: Overrides | None = None,
    *,
    out: str | os.PathLike[str],
    executor: Executor | None = None,
    workers: int | None = None,
    points_per_task: int | None = None,
    progress: bool | Callable[[int, int], object] | None = None,
) -> Result:
    """Run every point of a scenario on an executor, and keep each as soon as it is there.

    Points that `out` holds already are not run again: a killed sweep resumes where it stopped, also when
    ``pagemill run --keep`` began it. A point is one file with its own name, so that it is there once, whichever process runs it. The name
    holds everything that the results depend on: the values of the scenario and its machine, and the build of pagemill. Points
    of another build are run again, and workers with another build are refused.

    Scenarios of kind ``cuda`` are not swept: the results of a program depend on its file, its input and its environment,
    which a name made of the scenario cannot hold, and which another machine may not have. ``pagemill run FILE.toml`` runs
    their points one after the other, and keeps no part of them.

    Parameters
    ----------
    grid, overrides:
        A scenario and its overrides, as for `Scenario`; lists sweep.
    out:
        The folder of the sweep: ``parts/`` has a Parquet file for each point, ``results/`` the results at the end.
    executor:
        Any `concurrent.futures.Executor` whose workers can import pagemill, such as Dask's ``client.get_executor()``.
        It is not shut down. If not given: processes of this machine, started again when one dies.
    workers:
        Processes, or workers of `executor`; the number of cores if not given.
    points_per_task:
        Points that one task runs; a lost worker loses as many at most. If not given: at most 32, and enough tasks for all.
    progress:
        As for `run`.

    Returns
    -------
    Result
        All rows, in the order of the sweep: the same as `run` gives.

    Raises
    ------
    InputError
        Something is wrong with the scenario; nothing was run.
    RunError
        A point failed, or workers were lost again and again. What was done is kept.
    """
    workers = _checks.whole_or_none("workers", workers)
    points_per_task = _checks.whole_or_none("points_per_task", points_per_task)
    scenario = Scenario(grid, overrides)
    if scenario.kind == "cuda":
        raise InputError(
            f"{scenario.name} runs a program, whose results are not known by the scenario alone: use `pagemill run`, which runs all of its points"
        )
    store = _native.Store(os.fspath(out), scenario._loaded)
    points = len(scenario)
    missing = len(store.missing())
    count = workers or os.cpu_count() or 1
    tasks = tasks_of(scenario._loaded, store, points_per_task or points_per_task_of(missing, count))
    with bar(progress, scenario.name) as report:
        done = points - missing
        if report:
            report(done, points)
        for task in keep(tasks, executor, count, os.fspath(out)):
            done += len(task.indexes)
            if report:
                report(done, points)
    return Result(store.finish())


def points_per_task_of(points: int, workers: int) -> int:
    """How many of `points` a task has where the caller does not say."""
    return max(1, min(_POINTS_PER_TASK_MAX, points // (workers * _TASKS_PER_WORKER)))


def _run(tasks: list[Task], executor: Executor | None, workers: int, out: str) -> Iterator[tuple[Task, list[Part]]]:
    """Every task with its parts, as they come; tasks of lost workers are given to others."""
    work: Work = partial(_run_task, _native.BUILD) if executor else partial(_keep_task, out)
    attempts = 0
    causes: list[BaseException] = []
    ends = ""
    while tasks:
        own = None if executor else _Pool(workers)
        lost: list[Task] = []
        try:
            yield from _attempt(tasks, work, executor or own, workers, lost, causes)
        finally:
            if own:
                # Whose workers are lost have ended; the others may go on after an error.
                own.shutdown(wait=bool(lost), cancel_futures=True)
                ends = own.ends() or ends
        attempts += 1
        if lost and attempts == _ATTEMPTS_MAX:
            raise RunError(
                f"workers were lost {attempts} times, {sum(len(task.indexes) for task in lost)} points are left: {ends or repr(causes[-1])}; "
                "mend that, then run the same sweep again; what is done is kept"
            ) from causes[-1]
        tasks = lost


def _attempt(
    tasks: list[Task],
    work: Work,
    executor: Any,
    workers: int,
    lost: list[Task],
    causes: list[BaseException],
) -> Iterator[tuple[Task, list[Part]]]:
    """Keeps a few tasks for each worker under way. Tasks whose worker died end up in `lost`, what their futures raised in `causes`."""
    waiting = list(reversed(tasks))
    running: dict[Future[Answer], Task] = {}
    try:
        while waiting or running:
            while waiting and len(running) < workers * _TASKS_PER_WORKER:
                task = waiting.pop()
                try:
                    running[executor.submit(work, task.loaded.shipped(), task.indexes)] = task
                except BrokenExecutor as error:
                    causes.append(error)
                    lost.extend([task, *waiting])
                    waiting.clear()
            if not running:
                return
            ended, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                task = running.pop(future)
                try:
                    answer = future.result()
                except (Exception, CancelledError) as error:
                    # Tasks return their errors. What a future raises is the executor's own: its worker is lost. Executors differ in
                    # what they raise; Dask's takes a result apart as if it were an error when the worker that holds it dies.
                    causes.append(error)
                    lost.append(task)
                    continue
                if isinstance(answer, Exception):
                    raise answer
                yield task, answer
    finally:
        for future in running:
            future.cancel()


def _run_task(build: str, shipped: Any, indexes: list[int]) -> Answer:
    """Runs points in a worker of another machine, for a sweep of the same `build`."""
    if build != _native.BUILD:
        return RunError(
            f"a worker has another build of pagemill ({_native.__version__}, {_native.BUILD}) than the sweep ({build}): "
            "install the same wheel everywhere"
        )
    try:
        return _loaded(*_frozen(shipped)).run_parts(indexes)
    except Exception as error:
        return error


def _keep_task(out: str, shipped: Any, indexes: list[int]) -> Answer:
    """Runs points in a process of this machine, which keeps them itself.

    Sent back, a part longer than a pipe takes at once would hang the pool for good when a worker is killed within it:
    all workers share one pipe, and what reads it waits for the rest.
    """
    try:
        loaded = _loaded(*_frozen(shipped))
        store = _native.Store(out, loaded)
        for index, part in loaded.run_parts(indexes):
            store.put(index, part)
    except Exception as error:
        return error
    return []


def _frozen(shipped: Any) -> tuple[Any, ...]:
    name, text, machines, sets = shipped
    return name, text, tuple(map(tuple, machines)), tuple(sets)


@lru_cache(maxsize=2)
def _loaded(name: str, text: str, machines: tuple[Any, ...], sets: tuple[str, ...]) -> _native.Loaded:
    """A worker reads a scenario once for all its tasks."""
    return _native.Loaded.of_text(name, text, list(machines), list(sets))
