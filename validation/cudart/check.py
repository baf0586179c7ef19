"""Cost of `pagemill cuda --check`: CPU seconds of six kernels, functional with machine code and checked.

    nvcc -arch=compute_75 -lineinfo -cudart shared -o check validation/cudart/check.cu
    python3 validation/cudart/check.py --pagemill target/release/pagemill --program ./check > validation/cudart/check.csv

Each figure is the least user time of `--runs`. A run with another exit code than 0 ends the script with exit code 1.
"""

import argparse
import csv
import os
import resource
import subprocess
import sys

KERNELS = ["add", "matmul", "reduce", "histogram", "stencil", "arithmetic"]


def seconds(pagemill, option, program, kernel):
    """User time of one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    command = [pagemill, "cuda", option, "--", program, kernel]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {finished.returncode}\n{finished.stderr}")
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pagemill", default="target/release/pagemill")
    parser.add_argument("--program", default="./check")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["kernel", "functional_s", "checked_s", "ratio"])
    pagemill, program = os.path.abspath(arguments.pagemill), os.path.abspath(arguments.program)
    for kernel in KERNELS:
        functional, checked = (
            min(seconds(pagemill, option, program, kernel) for _ in range(arguments.runs))
            for option in ["--functional", "--check"]
        )
        out.writerow([kernel, f"{functional:.2f}", f"{checked:.2f}", f"{checked / functional:.1f}"])


if __name__ == "__main__":
    main()
