"""What can be named."""

from __future__ import annotations

import tomllib
from typing import Any

from pagemill import _native


def machines() -> dict[str, str]:
    """The built-in machines: name, and kind with title."""
    return dict(_native.machines())


def scenarios() -> dict[str, str]:
    """The built-in scenarios: name, and kind with title."""
    return dict(_native.scenarios())


def workloads() -> dict[str, str]:
    """The built-in GPU programs: name, and a line about each."""
    return dict(_native.workloads())


def policies() -> dict[str, str]:
    """The transfer modes: name, and a line about each."""
    return dict(_native.policies())


def machine(name: str) -> dict[str, Any]:
    """The keys of a built-in machine, to change and hand to `Gpu` or a scenario. Raises KeyError with the names there are."""
    return {"name": name, **tomllib.loads(_native.machine_text(name))}


def machine_text(name: str) -> str:
    """The file of a built-in machine, with the sources of its values. Raises KeyError with the names there are."""
    return _native.machine_text(name)


def scenario(name: str) -> dict[str, Any]:
    """The keys of a built-in scenario, to change and run. Raises KeyError with the names there are."""
    return {"name": name, **tomllib.loads(_native.scenario_text(name))}


def ptx(workload: str) -> str:
    """The PTX text of a built-in GPU program, as nvcc made it. Raises KeyError with the names there are."""
    return _native.ptx(workload)
