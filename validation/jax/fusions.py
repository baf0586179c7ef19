"""Fusions of JAX on a real H200 beside the model: kernels.csv, from real.csv and a Python that has `jax[cuda13]`.

    python3 validation/jax/fusions.py --python VENV/bin/python [--machine h200]

A fusion is compared where its name and the number of its launches are those of the real run: versions of XLA fuse differently.
`--count` prints the numbers of the kernels.csv that is there.
"""

import argparse
import collections
import csv
import json
import os
import subprocess

FOLDER = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = ["train", "gpt"]


def read(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return list(csv.DictReader(file))


def simulate(arguments, program):
    """Time and launches of each fusion."""
    command = [arguments.pagemill, "cuda", "--machine", arguments.machine, "--format", "json", "--", arguments.python]
    text = subprocess.run([*command, os.path.join(FOLDER, f"{program}.py")], capture_output=True, check=True).stdout.decode()
    sums = collections.defaultdict(lambda: [0.0, 0])
    for row in json.loads(text[text.index("{") :])["rows"]:
        if row.get("table") == "kernel" and row.get("launches"):
            sums[row["kernel"]][0] += row["time_ns"]
            sums[row["kernel"]][1] += row["launches"]
    return sums


def measure(arguments):
    real = collections.defaultdict(lambda: [0.0, 0])
    for row in read("real.csv"):
        launches = int(row["launches"])
        real[row["program"], row["kernel"]][0] += float(row["mean_ns"]) * launches
        real[row["program"], row["kernel"]][1] += launches
    with open(os.path.join(FOLDER, "kernels.csv"), "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow("program kernel launches real_ns ours_ns ours_over_real".split())
        for program in PROGRAMS:
            for kernel, (time, launches) in sorted(simulate(arguments, program).items()):
                real_time, real_launches = real.get((program, kernel), (0, 0))
                if launches == real_launches:
                    ours, theirs = time / launches, real_time / launches
                    writer.writerow([program, kernel, launches, f"{theirs:.0f}", f"{ours:.0f}", f"{ours / theirs:.3f}"])


def numbers():
    for program in PROGRAMS:
        rows = [row for row in read("kernels.csv") if row["program"] == program]
        ratios = [float(row["ours_over_real"]) for row in rows]
        error = sum(abs(ratio - 1) for ratio in ratios) / max(1, len(ratios))
        real, ours = (sum(float(row[name]) * int(row["launches"]) for row in rows) for name in ("real_ns", "ours_ns"))
        sums = f"together {ours / 1000:.1f} us, real {real / 1000:.1f} us"
        print(f"{program}: {len(rows)} fusions, mean error {100 * error:.1f} %, {sums}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pagemill", default="target/release/pagemill")
    parser.add_argument("--python", help="an interpreter with JAX")
    parser.add_argument("--machine", default="h200")
    parser.add_argument("--count", action="store_true")
    arguments = parser.parse_args()
    if not arguments.count:
        if not arguments.python:
            parser.error("--python says which interpreter has JAX")
        measure(arguments)
    numbers()


if __name__ == "__main__":
    main()
