"""Cost of `pagemill cuda --check`: CPU seconds of six kernels, and of ten programs, functional with machine code and checked.

    nvcc -arch=compute_75 -lineinfo -cudart shared -o check validation/cudart/check.cu
    for p in bfs hash_join key_value kmeans managed_histogram managed_matmul sort spmv stencil transpose; do
        nvcc -lineinfo -cudart shared -o programs/$p examples/cuda/$p.cu; done
    python3 validation/cudart/check.py --program ./check --programs programs > validation/cudart/check.csv

Each figure is the least user time of `--runs`; programs work on 32 MiB. `bfs` has races that it can do with, which end it with 1. The
row `start` is what a program of one small kernel costs in all, plainly and checked.
"""

import argparse
import csv
import os
import resource
import subprocess
import sys

RACES = {"bfs"}
KERNELS = ["add", "matmul", "reduce", "histogram", "stencil", "arithmetic"]


def seconds(pagemill, option, program, kernel):
    """User time of one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    command = [pagemill, "cuda", option, "--", program, kernel]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    allowed = {0, 1} if os.path.basename(program) in RACES else {0}
    if finished.returncode not in allowed:
        sys.exit(f"{' '.join(command)}: exit code {finished.returncode}\n{finished.stderr}")
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pagemill", default="target/release/pagemill")
    parser.add_argument("--program", default="./check")
    parser.add_argument("--programs", help="folder of the ten programs")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["kernel", "functional_s", "checked_s", "ratio"])
    pagemill, program = os.path.abspath(arguments.pagemill), os.path.abspath(arguments.program)
    points = [(kernel, program, kernel) for kernel in KERNELS]
    if arguments.programs:
        folder = os.path.abspath(arguments.programs)
        points += [(f"examples/{name}", os.path.join(folder, name), "32") for name in sorted(os.listdir(folder))]
        points.append(("start", os.path.join(folder, "stencil"), "1"))
    for name, program, argument in points:
        functional, checked = (
            min(seconds(pagemill, option, program, argument) for _ in range(arguments.runs))
            for option in ["--functional", "--check"]
        )
        out.writerow([name, f"{functional:.3f}", f"{checked:.3f}", f"{checked / functional:.1f}"])


if __name__ == "__main__":
    main()
