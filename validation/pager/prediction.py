"""Simulated against measured: time, faults and bytes of three programs under the pager, for two stores.

    python3 validation/pager/prediction.py --pagemill target/release/pagemill > validation/pager/prediction.csv

Costs are those of `pagemill doctor pager`, measured just before; page traces are recorded once for each program, in the fewest frames
and with nothing read ahead. No number is fitted to the programs. One handler answers faults, as in the simulator. A measured time is the
program's own, from its first instruction to its result, the least of `--runs`; programs in which sums differ end the script with exit
code 1. The mean error is written to standard error.
"""

import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FOOTPRINTS_MIB = {"sort": 32, "table": 32, "stencil": 36}
COUNTS = ["read_faults", "write_faults", "fetched_units", "written_units"]
SCENARIO = """
title = "{program}"
kind = "pager"
machine = "machine.toml"

[workload]
name = "trace"
file = "{program}.trace"

[pager]
store = "{store}"
memory = "{memory} MiB"
read_ahead = "{ahead}"
"""


def run(arguments, folder):
    return subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=False)


def checked(arguments, folder):
    finished = run(arguments, folder)
    if finished.returncode != 0:
        sys.exit(f"{' '.join(arguments)}: exit code {finished.returncode}\n{finished.stderr}")
    return finished


def measure(pagemill, folder, program, options, expected):
    """The program's own time and the pager's counts."""
    command = [pagemill, "pager", "run", "--handlers", "1", *options, "--out", "out", "--", "./prediction", program]
    finished = checked(command, folder)
    if finished.stdout != expected:
        sys.exit(f"{' '.join(command)}: the sum differs from that in memory")
    with open(os.path.join(folder, "out", "results.json"), encoding="utf-8") as file:
        row = json.load(file)["rows"][0]
    return int(re.search(r"elapsed_ns (\d+)", finished.stderr)[1]), row


def simulate(pagemill, folder, program, store, memory, ahead):
    text = SCENARIO.format(program=program, store=store, memory=memory, ahead=ahead)
    with open(os.path.join(folder, "replay.toml"), "w", encoding="utf-8") as file:
        file.write(text)
    return json.loads(checked([pagemill, "run", "replay.toml", "--format", "json"], folder).stdout)["rows"][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pagemill", default="target/release/pagemill")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--programs", default="sort,table,stencil")
    parser.add_argument("--folder", help="for the store in a folder and all files [default: a temporary one]")
    arguments = parser.parse_args()
    pagemill = os.path.abspath(arguments.pagemill)
    out = csv.writer(sys.stdout)
    out.writerow(["program", "store", "memory_mib", "read_ahead", "measured_ms", "simulated_ms", "time_error"]
                 + [f"{name}_error" for name in COUNTS])
    errors = []
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        checked(["cc", "-O2", "-o", os.path.join(folder, "prediction"), os.path.join(HERE, "prediction.c")], folder)
        checked([pagemill, "doctor", "pager", "--machine", "machine.toml", "--folder", folder], folder)
        for program in arguments.programs.split(","):
            expected = checked(["./prediction", program], folder).stdout
            least = ["--memory", "512KiB", "--read-ahead", "none"]
            measure(pagemill, folder, program, [*least, "--record", f"{program}.trace"], expected)
            for store, to in [("compressed", "compressed"), ("folder", ".")]:
                for parts in [2, 4]:
                    memory = FOOTPRINTS_MIB[program] // parts
                    for ahead in ["none", "streams"]:
                        options = ["--memory", f"{memory}MiB", "--to", to, "--read-ahead", ahead]
                        runs = [measure(pagemill, folder, program, options, expected) for _ in range(arguments.runs)]
                        measured_ns, counts = min(runs, key=lambda one: one[0])
                        simulated = simulate(pagemill, folder, program, store, memory, ahead)
                        error = simulated["time_ns"] / measured_ns - 1
                        errors.append(abs(error))
                        count_errors = [simulated[name] / max(1, counts[name]) - 1 if counts[name] else simulated[name]
                                        for name in COUNTS]
                        out.writerow([program, store, memory, ahead, f"{measured_ns / 1e6:.1f}",
                                      f"{simulated['time_ns'] / 1e6:.1f}", f"{error:+.3f}"]
                                     + [f"{value:+.4f}" for value in count_errors])
                        sys.stdout.flush()
    print(f"mean error of time: {sum(errors) / len(errors):.3f} over {len(errors)} rows", file=sys.stderr)


if __name__ == "__main__":
    main()
