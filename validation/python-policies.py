"""CPU time of policies written in Python over that of their twins in Rust, on the ten programs of the scenario `policies` with small inputs.

    python validation/python-policies.py [PROGRAM..]

Data exceed GPU memory, 512 KiB of pages of 64 KiB, so that decisions are many for each instruction. Each program runs under the twin, under each policy, and under the twin again, one job. Prints the table of validation/python.md.
"""

import math
import sys
import time

import pagemill

PROGRAMS = {
    "aes": {},
    "bfs": {"nodes": 16_384},
    "cp": {},
    "lib": {"paths": 256},
    "laplace3d": {"nx": 48, "ny": 48, "nz": 48},
    "mum": {"genome_bases": 100_000, "queries": 4_000},
    "nn": {"digits": 2},
    "ray": {"width": 128, "height": 128},
    "sto": {"file_bytes": "64 KiB"},
    "wp": {"west_east": 32, "south_north": 32, "steps": 2},
}


class MultiRange(pagemill.MigrationPolicy):
    name = "python-multi-range"

    def plan(self, page_bytes, valid, request):
        return self.missing(valid, request)


class Looking(pagemill.MigrationPolicy):
    """The same, asked at each migration."""

    name = "python-looking"
    looks_around = True

    def plan(self, page_bytes, valid, request, around):
        return self.missing(valid, request)


class LeastRecentlyUsed(pagemill.EvictionPolicy):
    name = "python-least-recently-used"
    tracks_use = True

    def __init__(self):
        self.order = {}

    def noted(self, events):
        for what, page in events:
            self.order.pop(page, None)
            if what != "left":
                self.order[page] = None

    def victim(self, keep):
        return next(page for page in self.order if page != keep)


POLICIES = [
    ("transfer.mode", MultiRange()),
    ("transfer.mode", Looking()),
    ("machine.gmmu.eviction", LeastRecentlyUsed()),
]


def seconds(program, keys, policies):
    scenario = {
        "kind": "gpu",
        "machine": "gtx480",
        "seed": 1,
        "workload": {"name": program, **PROGRAMS[program]},
        "transfer": {"mode": "multi-range", "page_size": "64 KiB", "unit": "1 KiB"},
    }
    keys = {"machine.dram.capacity": "512 KiB", "machine.gmmu.eviction": "least-recently-used", **keys}
    began = time.process_time()
    row = pagemill.run(scenario, keys, policies=policies, jobs=1, progress=False).rows[0]
    return time.process_time() - began, row["time_ns"]


def main(programs):
    pagemill.run("smoke", progress=False)
    print("| program | Rust | " + " | ".join(policy.name for _, policy in POLICIES) + " |")
    print("|---|" + "---|" * (len(POLICIES) + 1))
    ratios = [[] for _ in POLICIES]
    for program in programs:
        turns = [seconds(program, {}, [])]
        turns += [seconds(program, {key: policy.name}, [policy]) for key, policy in POLICIES]
        turns.append(seconds(program, {}, []))
        assert len({simulated for _, simulated in turns}) == 1, "a twin decides otherwise"
        first, *python, last = (cpu for cpu, _ in turns)
        rust = (first + last) / 2
        for kept, cpu in zip(ratios, python):
            kept.append(cpu / rust)
        print(f"| {program} | {rust:.2f} s | " + " | ".join(f"{cpu / rust:.2f}" for cpu in python) + " |", flush=True)
    means = [math.exp(sum(map(math.log, kept)) / len(kept)) for kept in ratios]
    print("| geometric mean, most | | " + " | ".join(f"{mean:.2f}, {max(kept):.2f}" for mean, kept in zip(means, ratios)) + " |")


if __name__ == "__main__":
    main(sys.argv[1:] or PROGRAMS)
