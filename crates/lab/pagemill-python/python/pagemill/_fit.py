"""Searches for settings that come nearest to published values, on any executor."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import nullcontext

from pagemill import _checks, _native
from pagemill._native import InputError
from pagemill._progress import bar
from pagemill._result import Result
from pagemill._scenario import Overrides, Scenario, Source
from pagemill._sweep import keep, points_per_task_of, tasks_of


def fit(
    scenario: Source,
    overrides: Overrides | None = None,
    *,
    points: int | None = None,
    seed: int | None = None,
    out: str | os.PathLike[str] | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    progress: bool | Callable[[int, int], object] | None = None,
) -> Result:
    """Search the settings of a scenario's section ``[fit]`` for those that come nearest to its published values.

    The same settings as ``pagemill fit``, wherever they are run: each batch of settings depends on the results of the ones
    before, and on nothing else.

    Parameters
    ----------
    scenario, overrides:
        A scenario with a section ``[fit]`` and its overrides, as for `Scenario`.
    points:
        Settings to try, instead of what the scenario says.
    seed:
        Seed of the search, instead of what the scenario says.
    out:
        A folder that keeps each point, as that of `sweep`: a killed search resumes where it stopped, and a larger
        `points` goes on where a smaller one ended. ``results/`` holds the results at the end. If not given: nothing is kept.
    executor, workers:
        As for `sweep`.
    progress:
        As for `run`, called with settings instead of points.

    Returns
    -------
    Result
        A row for each target of each setting; ``on_front`` is true for the settings that no other one beats.

    Raises
    ------
    InputError
        Something is wrong with the scenario or its section ``[fit]``; nothing was run.
    RunError
        A point failed, or workers were lost again and again. With `out`, what was done is kept. (The command goes on instead,
        and says which settings could not be run.)
    """
    workers = _checks.whole_or_none("workers", workers)
    given = {"fit.points": points, "fit.seed": seed}
    overrides = {**(overrides or {}), **{key: value for key, value in given.items() if value is not None}}
    loaded = Scenario(scenario, overrides)
    if loaded.kind == "cuda":
        raise InputError(
            f"{loaded.name} runs a program, whose results are not known by the scenario alone: fit a scenario of another kind"
        )
    search = _native.Fit(loaded._loaded)
    count = workers or os.cpu_count() or 1
    with tempfile.TemporaryDirectory() if out is None else nullcontext(os.fspath(out)) as folder:
        with bar(progress, loaded.name) as report:
            while trials := search.ask():
                if report:
                    report(search.tried(), search.points())
                stores = [None if trial is None else _native.Store(folder, trial) for trial in trials]
                _run_batch(trials, stores, executor, count, folder)
                search.tell(stores)
            if report:
                report(search.tried(), search.points())
        if out is not None:
            search.write(folder)
    return Result(search.result())


def _run_batch(
    trials: list[_native.Loaded | None],
    stores: list[_native.Store | None],
    executor: Executor | None,
    workers: int,
    folder: str,
) -> None:
    """Runs what the stores lack, the points of all settings at a time."""
    sound = [(trial, store) for trial, store in zip(trials, stores) if trial and store]
    missing = sum(len(store.missing()) for _, store in sound)
    size = points_per_task_of(missing, workers)
    tasks = [task for trial, store in sound for task in tasks_of(trial, store, size)]
    for _ in keep(tasks, executor, workers, folder):
        pass
