"""pagemill: what does it cost to manage memory by pages, and who should decide?

Scenarios are run as by the command ``pagemill run``, with the same numbers::

    import pagemill
    result = pagemill.run("quickstart", {"machine.link.bandwidth": ["16 GB/s", "32 GB/s"]})
    result.to_pandas()
    result.plot()

Kernels are launched on NumPy arrays, under any policy::

    gpu = pagemill.Gpu("gtx480", "multi-range")
    a = gpu.managed(numpy.zeros(1024, numpy.float32))
    gpu.launch("kernel.ptx", "kernel", grid=4, block=256, args=[a, 1024])
    a.numpy()

Programs run as by the command, which the wheel of a release has inside (one that pip builds of the sources has not; `command_path` says
where it is looked for)::

    pagemill.cuda("./program", mode="whole-page").to_pandas()
    pagemill.advise("pattern", "grid-stride", factor=1.5, machine="a100-pcie4-x86")

Times are nanoseconds of simulated time, sizes are bytes, rates lie between 0 and 1; the columns of results say
their unit in their name. ``docs/results.md`` describes each of them.
"""

from pagemill._command import advise, color, command_path, compare, cuda, load, mpi, pager, zero
from pagemill._gpu import Gpu, Launch, Managed
from pagemill._listing import machine, machine_text, machines, policies, ptx, scenario, scenarios, workloads
from pagemill._mrc import mrc
from pagemill._native import Around, InputError, RunError, __version__
from pagemill._nsight import nsight
from pagemill._policy import EvictionPolicy, GrowthPolicy, MigrationPolicy, PrefetchPolicy
from pagemill._result import PageMaps, Result, concat
from pagemill._scenario import Scenario, rank, run
from pagemill._sweep import sweep

__all__ = [
    "Around",
    "EvictionPolicy",
    "Gpu",
    "GrowthPolicy",
    "InputError",
    "Launch",
    "Managed",
    "MigrationPolicy",
    "PageMaps",
    "PrefetchPolicy",
    "Result",
    "RunError",
    "Scenario",
    "__version__",
    "advise",
    "color",
    "command_path",
    "compare",
    "concat",
    "cuda",
    "load",
    "machine",
    "machine_text",
    "machines",
    "mpi",
    "mrc",
    "nsight",
    "pager",
    "policies",
    "ptx",
    "rank",
    "run",
    "scenario",
    "scenarios",
    "sweep",
    "workloads",
    "zero",
]
