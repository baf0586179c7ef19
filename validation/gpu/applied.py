#!/usr/bin/env python3
"""Times managed programs on this machine's GPU: as they are, with the hints that the simulation advises, with the parts of pages that
each launch needs, and with whole pages copied ahead as one would by hand.

    python3 validation/gpu/applied.py MACHINE OUT.csv PROGRAM...

PROGRAM is a built program, with its arguments if it is quoted; MACHINE the simulated machine next to the card. A row is written as soon as
its program is done. Times are medians of five runs, from the first launch and what is copied for it to the last wait or free. A time that
could not be taken is empty, and standard error says why. Never give data that exceed the card's free memory."""
import csv
import datetime
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile

PAGEMILL = os.environ.get("PAGEMILL", "pagemill")
RUNS = 5


def call(*words):
    """Runs pagemill; answers with its standard output, or None and the reason on standard error."""
    done = subprocess.run([PAGEMILL, *words], capture_output=True, text=True)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no reason"])[-1]
        print(f"  {' '.join(words[:2])}: exit code {done.returncode}: {last}", file=sys.stderr)
        return None
    return done.stdout


def gpu_ns(command, hints=None):
    """The median time of the program with hints."""
    times = []
    for _ in range(RUNS):
        given = ["--hints", hints] if hints else []
        out = call("gpu", "run", "--format", "json", *given, "--", *command)
        if out is None:
            return ""
        rows = json.loads(out[out.index("{"):])["rows"]
        times.append(sum(row["gpu_ns"] for row in rows if row["table"] == "process"))
    return int(statistics.median(times))


def found(machine, command, hints, *how):
    """The time with hints that a command of pagemill finds."""
    if call(*how, "--machine", machine, "--hints", hints, "--", *command) is None:
        return ""
    return gpu_ns(command, hints)


def card():
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    return subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()[0]


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    machine, out, programs = sys.argv[1], sys.argv[2], sys.argv[3:]
    name = card()
    with open(out, "w", newline="") as file, tempfile.TemporaryDirectory() as folder:
        table = csv.writer(file)
        table.writerow("program card machine date plain_ns hints_ns partial_ns by_hand_ns".split())
        for program in programs:
            command = shlex.split(program)
            print(program, file=sys.stderr)
            hints = os.path.join(folder, "hints.toml")
            plain = gpu_ns(command)
            advised = found(machine, command, hints, "advise", "program")
            parts = found(machine, command, hints, "cuda", "--mode", "multi-range", "--format", "json")
            whole = found(machine, command, hints, "cuda", "--mode", "whole-page", "--format", "json")
            shown = os.path.basename(command[0]) + "".join(f" {word}" for word in command[1:])
            table.writerow([shown, name, machine, datetime.date.today().isoformat(), plain, advised, parts, whole])
            file.flush()


main()
