"""A simulated GPU for a host program in Python."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pagemill import _checks, _native
from pagemill._policy import MigrationPolicy, Policy
from pagemill._result import Result
from pagemill._scenario import Scenario

Shape = int | Sequence[int]

_TRANSFER_KEYS = ("page_size", "unit", "gap_threshold", "range_slots", "when_full")


@dataclass(frozen=True)
class Launch:
    """Results of one launch."""

    kernel: str
    """Name of the kernel."""
    time_ns: float
    """Simulated time from launch to end."""
    warp_instructions: int
    """PTX instructions that warps executed."""
    thread_instructions: int
    """PTX instructions times the lanes that executed them."""


class Managed:
    """An array that CPU and GPU see at one address; its pages move as the policy of its GPU decides. Made by `Gpu.managed`."""

    def __init__(self, gpu: Gpu, address: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.address = address
        """Address of the first byte, the same for kernels."""
        self.shape = shape
        """Shape of the array; elements are in C order."""
        self.dtype = dtype
        """Type of the elements."""
        self._gpu = gpu

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return int(np.prod(self.shape)) * self.dtype.itemsize

    def numpy(self) -> npt.NDArray[Any]:
        """The CPU reads all of it, which takes simulated time; returns a new array."""
        return np.frombuffer(self._gpu._native.read(self.address), self.dtype).reshape(self.shape)

    def write(self, array: npt.ArrayLike) -> None:
        """The CPU writes all of it, which takes simulated time. `array` has the same shape, or one that broadcasts to it."""
        values = np.broadcast_to(np.asarray(array, self.dtype), self.shape)
        self._gpu._native.write(self.address, values.tobytes())

    def free(self) -> None:
        """Give the memory back; nothing moves. Use after this raises ValueError."""
        self._gpu._native.free(self.address)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    def __repr__(self) -> str:
        return f"<pagemill.Managed {self.dtype} {self.shape} at {self.address:#x}>"


class Gpu:
    """A simulated GPU with empty memory and cold caches.

    Parameters
    ----------
    machine:
        The name of a built-in machine of kind ``gpu`` (``pagemill.machines()``), the path of a machine file, or a dict
        with its keys.
    policy:
        How managed arrays get to the GPU: a transfer mode (``pagemill.policies()``), or an object of a subclass of
        `MigrationPolicy`. Without it, ``on-demand`` on machines that have a unified-memory driver, and ``multi-range``
        on others, as for ``pagemill cuda``.
    policies:
        Objects of other policies, for the names that `overrides` gives: ``{"machine.policy.eviction": "my-eviction"}``.
    transfer:
        ``page_size``, ``unit``, ``gap_threshold``, ``range_slots`` and ``when_full`` of ``[transfer]``, such as
        ``page_size="64 KiB"``.
    overrides:
        Values of the machine or of ``limits`` by dotted key: ``{"machine.link.bandwidth": "32 GB/s"}``.

    Raises InputError if any of these is wrong. A Gpu is for one thread at a time.
    """

    def __init__(
        self,
        machine: str | os.PathLike[str] | Mapping[str, Any] = "h100-sxm",
        policy: str | MigrationPolicy | None = None,
        *,
        overrides: Mapping[str, Any] | None = None,
        policies: Sequence[Policy] = (),
        **transfer: Any,
    ) -> None:
        for key in transfer:
            if key not in _TRANSFER_KEYS:
                raise TypeError(f"Gpu() has no keyword {key!r}: there are {', '.join(_TRANSFER_KEYS)}")
        mode = {} if policy is None else {"mode": policy if isinstance(policy, str) else getattr(policy, "name", "")}
        scenario = {
            "name": "python",
            "title": "Kernels launched from Python",
            "kind": "cuda",
            "machine": machine if isinstance(machine, Mapping) else os.path.abspath(machine) if _is_path(machine) else machine,
            "program": {"command": ["python"]},
            "transfer": {**mode, **transfer},
        }
        known = [*policies] if policy is None or isinstance(policy, str) else [policy, *policies]
        self._native = _native.Gpu(Scenario(scenario, overrides, policies=known)._loaded)
        self._arrays = 0

    def managed(self, array: npt.ArrayLike, name: str | None = None) -> Managed:
        """Managed memory with the shape, type and contents of `array`, written by the CPU.

        `name` is for messages. Raises ValueError for an empty array, objects, or memory that is used up.
        """
        values = np.asarray(array)
        if values.dtype.hasobject:
            raise ValueError(f"an array of {values.dtype} has no bytes that a kernel could use")
        self._arrays += 1
        address = self._native.alloc(name or f"array {self._arrays}", values.nbytes)
        managed = Managed(self, address, values.shape, values.dtype)
        managed.write(values)
        return managed

    def launch(
        self,
        module: str | os.PathLike[str],
        kernel: str,
        grid: Shape,
        block: Shape,
        args: Sequence[Any] = (),
        *,
        shared_bytes: int = 0,
    ) -> Launch:
        """Run a kernel to its end.

        Parameters
        ----------
        module:
            PTX text, or the path of a PTX file, as nvcc, NVRTC, clang or numba make it.
        kernel:
            Name of the kernel in the PTX text (C++ names are mangled there).
        grid, block:
            Blocks of the grid, threads of a block: a number, or up to three (x, y, z).
        args:
            `Managed` arrays, NumPy scalars (passed with their own size), Python numbers (passed in the size of the
            parameter), or bytes (structures).
        shared_bytes:
            Dynamic shared memory of a block.

        Raises ValueError, TypeError or OverflowError for what cannot be launched, RunError if the kernel traps or
        reaches a limit, and whatever a policy raises. Ctrl-C stops the kernel; the GPU cannot be used afterwards.
        """
        name, text = _ptx_of(module)
        arguments = [_argument(self, value) for value in _checks.listed("args", args, "arguments")]
        shared_bytes = _checks.whole("shared_bytes", shared_bytes, 0)
        report = self._native.launch(name, text, kernel, _three("grid", grid), _three("block", block), shared_bytes, arguments)
        return Launch(**report)

    def output(self) -> str:
        """What kernels printed since the last call."""
        return self._native.output()

    def finish(self) -> Result:
        """End the run: a row of the table `program`, and one of `kernel` for each kernel."""
        return Result(self._native.finish())


def _is_path(machine: str | os.PathLike[str]) -> bool:
    text = os.fspath(machine)
    return "/" in text or text.endswith(".toml")


def _ptx_of(module: str | os.PathLike[str]) -> tuple[str, str]:
    """Name and text of a module."""
    if isinstance(module, str) and "\n" in module:
        return "module.ptx", module
    path = os.fspath(module)
    with open(path, encoding="utf-8") as file:
        return path, file.read()


def _three(name: str, shape: Shape) -> list[int]:
    sizes = [shape] if _checks.is_whole(shape) else _checks.listed(name, shape, "one to three whole numbers")
    if not 1 <= len(sizes) <= 3:
        raise ValueError(f"{name}={shape!r} is no shape: one to three numbers of at least 1")
    return [_checks.whole(name, size) for size in sizes] + [1] * (3 - len(sizes))


def _argument(gpu: Gpu, value: Any) -> tuple[str, Any]:
    if isinstance(value, Managed):
        if value._gpu is not gpu:
            raise ValueError(f"{value!r} is an array of another Gpu")
        return "address", value.address
    if isinstance(value, (np.generic, bytes, bytearray)):
        return "bytes", bytes(value) if isinstance(value, (bytes, bytearray)) else value.tobytes()
    if isinstance(value, (bool, int)):
        return "int", int(value)
    if isinstance(value, float):
        return "float", value
    raise TypeError(f"{value!r} is a {type(value).__name__}: arguments are managed arrays (gpu.managed), numbers or bytes")
