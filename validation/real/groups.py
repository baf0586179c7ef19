"""Times of fault groups by the costs of a machine file, beside those that nvprof saw on a GTX 1080 Ti.

    python3 validation/real/groups.py

`groups.csv` has what nvprof counted of each run: groups, copies, bytes, and the size of the data (Ganguly et al., IPDPS 2020: logs RealOversubOverhead of
gpgpu-sim_UVMSmart on GitHub at bafab5d7). Costs of `machines/gtx1080ti.toml` on these counts give a time, which is compared with
nvprof's. Nothing is simulated: this judges the costs alone, not which pages move. nvprof does not count entries and blocks of a
group, so each group has a full batch of entries and one block, and each 2 MiB that came needed a chunk.
"""

import csv
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
# Its groups were used to set a cost: `eviction`.
GUIDES = ("fdtd",)
UNITS_US = {"ns": 1e-3, "us": 1.0}
PAGES_PER_MIB = 256
BLOCK_MIB = 2


def costs_of(machine: dict) -> dict[str, float]:
    """The times of `[driver]`, and the interrupt, in microseconds."""
    costs = {}
    given = machine["driver"] | {"interrupt_latency": machine["faults"]["interrupt_latency"]}
    for name, entry in given.items():
        value = str(entry["value"]).split()
        if len(value) == 2:
            costs[name] = float(value[0]) * UNITS_US[value[1]]
    return costs


def mib_us(machine: dict, direction: str) -> float:
    """What a MiB takes on the link, packet headers included."""
    link = machine["link"]
    bandwidth = link.get(direction, link["bandwidth"])["value"]
    payload, header = (int(link[key]["value"].split()[0]) for key in ("copy", "header"))
    gigabytes_per_second = float(bandwidth.split()[0]) * payload / (payload + header)
    return 2**20 / 1e3 / gigabytes_per_second


def modeled_us(machine: dict, row: dict[str, float]) -> float:
    """The time of all groups of a run."""
    cost = costs_of(machine)
    entries = machine["faults"]["batch_entries"]["value"]
    group = cost["interrupt_latency"] + cost["batch"] + cost["block"] + cost["replay"] + cost["entry"] * entries
    chunks = max(row["in_mib"], row["out_mib"]) / BLOCK_MIB
    copies = (row["copies_in"] + row["copies_out"]) * (cost["queue"] + cost["copy"])
    wire = row["in_mib"] * mib_us(machine, "bandwidth") + row["out_mib"] * mib_us(machine, "bandwidth_to_cpu")
    # The CPU has mapped the data once; what comes back to the GPU it has not.
    pages = row["data_mib"] * PAGES_PER_MIB * cost["host_page_unmap"]
    leaving = row["out_mib"] / BLOCK_MIB * cost["eviction"]
    return row["groups"] * group + chunks * cost["chunk"] + copies + wire + pages + leaving


def main() -> int:
    """Prints each run, and the mean error of those that set nothing."""
    machine = tomllib.loads((HERE / "../../machines/gtx1080ti.toml").read_text())
    errors = []
    print(f"{'program':10}{'factor':>8}{'groups':>8}{'measured us':>14}{'modeled us':>14}{'error':>8}")
    with (HERE / "groups.csv").open() as file:
        for row in csv.DictReader(file):
            name = row.pop("program")
            counts = {key: float(value) for key, value in row.items()}
            measured, modeled = counts["group_time_us"], modeled_us(machine, counts)
            error = modeled / measured - 1
            used = name in GUIDES
            if not used:
                errors.append(abs(error))
            mark = " (set a cost)" if used else ""
            print(
                f"{name:10}{counts['factor_percent'] / 100:8.2f}{counts['groups']:8.0f}"
                f"{measured:14.0f}{modeled:14.0f}{error:8.0%}{mark}"
            )
    print(f"mean error of {len(errors)} runs that set nothing: {sum(errors) / len(errors):.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
