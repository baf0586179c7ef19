#!/usr/bin/env python3
"""Runs programs of the NAS Parallel Benchmarks (NPB 3.x, MPI) with counted instructions, and keeps what they say of themselves.

    python3 validation/mpi/npb.py FOLDER [--class A] [--ranks 16] [--machine pni] [--runs 2] [--out npb.csv]

FOLDER holds the programs as NPB's makefiles name them: bt.A.16, cg.A.16, and so on. A row has the virtual seconds that a program prints,
its rate in millions of operations a second, what its own check says, the instructions of all ranks, the part of the virtual time of all
ranks that is not computing, the CPU seconds of this computer, and how many runs there were and whether all said the same.
"""

import argparse
import csv
import io
import re
import resource
import subprocess
from pathlib import Path

PROGRAMS = ("is", "ep", "cg", "mg", "ft", "lu", "sp", "bt")
INSTRUCTION_PS = 500
COLUMNS = (
    "program",
    "class",
    "ranks",
    "machine",
    "time_s",
    "mop_per_s",
    "check",
    "instructions",
    "not_computing",
    "cpu_s",
    "runs",
    "runs_are_equal",
)


def run(arguments, name):
    """One run: what the program printed, and the rows of its ranks."""
    command = [arguments.command, "mpi", "--machine", arguments.machine]
    command += ["--compute", "counted", "--instruction-ps", str(INSTRUCTION_PS)]
    command += ["--format", "csv", "--", "mpirun", "--allow-run-as-root"]
    command += ["-n", str(arguments.ranks), str(arguments.folder / name)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    rows = csv.DictReader(io.StringIO(done.stdout))
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stderr, [row for row in rows if row["table"] == "rank"], cpu_s


def value(text, label):
    """What a program's last table says of `label`."""
    found = re.findall(rf"^ ?{re.escape(label)} *= *(\S+)", text, re.MULTILINE)
    return found[-1] if found else "?"


def measure(arguments, program):
    """A row."""
    name = f"{program}.{getattr(arguments, 'class')}.{arguments.ranks}"
    runs = [run(arguments, name) for _ in range(arguments.runs)]
    text, ranks, cpu_s = runs[0]
    compute_ns = sum(float(row["compute_time_ns"]) for row in ranks)
    time_ns = sum(float(row["time_ns"]) for row in ranks)
    return {
        "program": program,
        "class": getattr(arguments, "class"),
        "ranks": arguments.ranks,
        "machine": arguments.machine,
        "time_s": value(text, "Time in seconds"),
        "mop_per_s": value(text, "Mop/s total"),
        "check": value(text, "Verification").lower(),
        "instructions": round(compute_ns * 1000 / INSTRUCTION_PS),
        "not_computing": f"{1 - compute_ns / time_ns:.3f}",
        "cpu_s": round(cpu_s),
        "runs": arguments.runs,
        "runs_are_equal": "" if arguments.runs < 2 else all(other[1] == ranks for other in runs),
    }


def main():
    """Measures, and writes each row when it is there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--class", default="A")
    parser.add_argument("--ranks", type=int, default=16)
    parser.add_argument("--machine", default="pni")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--programs", nargs="*", default=PROGRAMS)
    parser.add_argument("--command", default="target/release/pagemill")
    parser.add_argument("--out", type=argparse.FileType("w"), default="-")
    arguments = parser.parse_args()
    writer = csv.DictWriter(arguments.out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for program in arguments.programs:
        writer.writerow(measure(arguments, program))
        arguments.out.flush()


if __name__ == "__main__":
    main()
