#!/usr/bin/env python3
"""Steps a second of gpt.py on GPUs that are too small for it: a row for each size and way to move pages."""

import argparse
import csv
import json
import math
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
CHUNK = 2 << 20
FACTORS = [0.8, 1.0, 1.2, 1.5, 2.0]
# Where nothing stays on the GPU, its size is nothing.
MODES = {"on-demand": FACTORS, "whole-page": FACTORS, "multi-range": FACTORS, "zero-copy": [1.0]}
COLUMNS = ["factor", "gpu_bytes", "mode", "steps_per_s", "migrated_bytes", "returned_bytes", "last_loss"]


def run(arguments, *options):
    command = [arguments.pagemill, "cuda", "--machine", "h200", "--managed", "--format", "json", *options]
    ran = subprocess.run([*command, "--", arguments.python, HERE / "gpt.py"], capture_output=True, text=True)
    if ran.returncode != 0:
        sys.exit(f"{' '.join(options)}: exit code {ran.returncode}\n{ran.stderr}")
    printed = [line.split() for line in ran.stderr.splitlines() if line[:1].isdigit()]
    rows = json.loads(ran.stdout)["rows"]
    return next(row for row in rows if row["table"] == "program"), float(printed[0][-1]), float(printed[1][0])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", required=True, help="of an environment that has xtask/pytorch-requirements.txt")
    parser.add_argument("--pagemill", default="pagemill")
    arguments = parser.parse_args()
    peak = run(arguments, "--functional")[0]["allocated_bytes"]
    with open(HERE / "oversubscribed.csv", "w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        for mode, factors in MODES.items():
            for factor in factors:
                gpu = math.ceil(peak / factor / CHUNK) * CHUNK
                row, loss, step_s = run(arguments, "--mode", mode, "--gpu-memory", f"{gpu}B")
                moved = {name: int(row[name]) for name in ("migrated_bytes", "returned_bytes")}
                shown = dict(factor=factor, gpu_bytes=gpu, mode=mode, steps_per_s=f"{1 / step_s:.0f}", last_loss=loss)
                table.writerow(shown | moved)
                file.flush()


if __name__ == "__main__":
    main()
