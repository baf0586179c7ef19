"""Scenarios: files, built-in names, or dicts with the same keys."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Union

from pagemill import _checks, _native, _toml
from pagemill._policy import Policy
from pagemill._progress import bar
from pagemill._result import Result

Overrides = Mapping[str, Any]


class Scenario:
    """An experiment, read and checked: every point of its sweep is known to be sound.

    Parameters
    ----------
    source:
        The name of a built-in scenario (``pagemill.scenarios()``), the path of a TOML file, or a dict with the keys of
        such a file. In a dict, ``machine`` may be a dict too: the keys of a machine file and a ``name``. Dotted keys
        (``"transfer.mode"``) are the same as nested dicts.
    overrides:
        Values by dotted key, which replace those of the scenario and its machine; a list sweeps, as ``--set`` does.
    policies:
        Objects of subclasses of `MigrationPolicy`, `GrowthPolicy`, `PrefetchPolicy` or `EvictionPolicy`. The scenario names
        them as it names built-in ones: ``{"machine.gmmu.eviction": ["least-recently-used", "my-eviction"]}``.

    Raises
    ------
    InputError
        Everything that is wrong with the scenario, its machine and the overrides, each with its place.
    """

    def __init__(self, source: Source, overrides: Overrides | None = None, *, policies: Sequence[Policy] = ()) -> None:
        self._loaded: _native.Loaded
        self._policies = _checks.listed("policies", policies, "objects")
        sets = [f"{key}={_toml.value(item)}" for key, item in (overrides or {}).items()]
        if isinstance(source, Scenario):
            name, text, machines, before = source._loaded.shipped()
            self._policies = [*source._policies, *policies]
            self._loaded = _native.Loaded.of_text(name, text, machines, before + sets, self._policies)
        elif isinstance(source, Mapping):
            name, text, machines = _written(source)
            self._loaded = _native.Loaded.of_text(name, text, machines, sets, self._policies)
        else:
            self._loaded = _native.Loaded.read(_checks.path("scenario", source, '"smoke" (pagemill.scenarios() has all), a path or a dict'), sets, self._policies)

    @property
    def name(self) -> str:
        """The file's name without ``.toml``."""
        return self._loaded.name

    @property
    def title(self) -> str:
        """What it shows, in a line."""
        return self._loaded.title

    @property
    def kind(self) -> str:
        """The kind of scenario, such as ``gpu``."""
        return self._loaded.kind

    @property
    def points(self) -> list[dict[str, str]]:
        """The swept keys of each point and their values as written, the last key fastest."""
        return [dict(point) for point in self._loaded.points()]

    def __len__(self) -> int:
        return len(self._loaded)

    def __iter__(self) -> Iterator[dict[str, str]]:
        return iter(self.points)

    def __repr__(self) -> str:
        count = len(self)
        return f"<pagemill.Scenario {self.name}: {self.title} ({count} point{'' if count == 1 else 's'})>"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._policies:
            raise TypeError(f"{self.name} has policies that are written in Python, which cannot be sent to another process")
        return _shipped, (self._loaded.shipped(),)


Source = Union[str, "os.PathLike[str]", Mapping[str, Any], Scenario]


def _shipped(shipped: Any) -> Scenario:
    """A scenario from what another process sent."""
    scenario = Scenario.__new__(Scenario)
    scenario._policies = []
    scenario._loaded = _native.Loaded.of_text(*shipped)
    return scenario


def _written(source: Mapping[str, Any]) -> tuple[str, str, list[tuple[str, str, str]]]:
    """Name, text and machines of a scenario that is a dict."""
    table = _toml.nested({key: item for key, item in source.items() if key != "machine"})
    name = str(table.pop("name", "scenario"))
    table.setdefault("title", name)
    machines = []
    machine = source.get("machine")
    if isinstance(machine, Mapping):
        keys = _toml.nested(machine)
        machine_name = str(keys.pop("name", "machine"))
        machines.append((machine_name, f"{machine_name}.toml", _toml.document(keys)))
        machine = machine_name
    if machine is not None:
        table = {"machine": machine, **table}
    return f"{name}.toml", _toml.document(table), machines


def run(
    scenario: Source,
    overrides: Overrides | None = None,
    *,
    policy: Policy | Sequence[Policy] | None = None,
    policies: Sequence[Policy] = (),
    jobs: int | None = None,
    progress: bool | Callable[[int, int], object] | None = None,
    pages: bool = False,
    **keys: Any,
) -> Result:
    """Run every point of a scenario, as ``pagemill run`` does: same scenario, seed and version, same bytes.

    Parameters
    ----------
    scenario, overrides:
        As for `Scenario`. Further overrides may be keywords, with ``__`` for the dot: ``transfer__mode="whole-page"``.
    policy:
        An object of a subclass of `MigrationPolicy`, `GrowthPolicy`, `PrefetchPolicy` or `EvictionPolicy`, or several: they
        decide in every point, instead of what the scenario names.
    policies:
        Such objects that decide where the scenario, or an override, has their name. So a sweep compares them with others.
    jobs:
        Points that run at the same time; the number of cores if not given. The result does not depend on it.
    progress:
        True shows a bar, False shows none, a callable is called with (points done, points); if not given, a bar is
        shown in a terminal and in Jupyter.
    pages:
        Record where every page was, and when: `Result.pages` shows it, the report includes it, and `Result.save` writes it.

    Returns
    -------
    Result
        A row for each point, in the order of the sweep. Times in ns, sizes in bytes.

    Raises
    ------
    InputError
        Something is wrong with the scenario; nothing was run.
    RunError
        A point failed: the kernel trapped, a result differs from its reference, a limit was reached.
    KeyboardInterrupt
        Ctrl-C; points that were running are stopped.
    Exception
        Whatever a policy raises, with the name of its class and method; ValueError or TypeError for an answer that breaks its contract.

    The interpreter's lock is free while points run.
    """
    keyed = {key.replace("__", "."): item for key, item in keys.items()}
    overrides = {**(overrides or {}), **keyed}
    if isinstance(policy, str):
        raise TypeError(f"policy={policy!r} is a name, and objects are needed: name built-in ones by their key, such as transfer__mode={policy!r}")
    deciding = list(policy) if isinstance(policy, Sequence) else [policy] if policy is not None else []
    jobs = _checks.whole_or_none("jobs", jobs)
    loaded = Scenario(scenario, overrides, policies=policies)
    if deciding:
        keys = dict(loaded._loaded.keys_of(deciding))
        loaded = Scenario(loaded, keys, policies=deciding)
    with bar(progress, loaded.name) as report:
        return Result(loaded._loaded.run(jobs, report, pages))


def rank(
    scenario: Source = "policies",
    overrides: Overrides | None = None,
    *,
    by: str = "transfer.mode",
    metric: str = "time_ns",
    policies: Sequence[Policy] = (),
    jobs: int | None = None,
    progress: bool | Callable[[int, int], object] | None = None,
) -> Result:
    """Rank policies over programs, as ``pagemill rank`` does: every combination of policy and program runs once.

    Parameters
    ----------
    scenario, overrides, policies, jobs, progress:
        As for `run`. Each combination of the swept keys beside ``by`` is a program.
    by:
        The swept key whose values compete: ``transfer.mode``, ``machine.gmmu.eviction``, ...
    metric:
        The metric that is compared; less is better.

    Returns
    -------
    Result
        A row for each policy, the best first: ``over_best`` is the geometric mean of its figure over that of the best policy for
        each program, with a 95 % interval from resampled programs.

    Raises
    ------
    InputError
        As `run`, and where ``by`` is not swept or a row has no such metric.
    """
    jobs = _checks.whole_or_none("jobs", jobs)
    loaded = Scenario(scenario, overrides, policies=policies)
    with bar(progress, loaded.name) as report:
        return Result(loaded._loaded.rank(by, metric, jobs, report))
