"""CPU time of the programs of real.csv on a simulated H100, timed and without time: speed.csv, and what it says.

    python3 validation/h100/speed.py --programs BIN --sources SRC [--only REGEX] [--limit 60]

One thread; user and system time of the whole program, its own work on the CPU included. Programs that take longer than the limit are left out.
"""

import argparse
import csv
import os
import re
import resource
import statistics

from kernels import FOLDER, read, rows_of


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(arguments, program, words, source, options):
    """CPU seconds and thread instructions; none where the program launches nothing, or does not end in time."""
    before = cpu_seconds()
    table, why = rows_of(arguments, program, words, source, ["--threads", "1", *options])
    used = cpu_seconds() - before
    counts = [row["thread_instructions"] for row in table if row["table"] == "program"]
    return (used, counts[0]) if any(counts) and not why else None


def measure(arguments):
    sources = {(row["program"], row["arguments"]): row["source"] for row in read("real.csv")}
    with open(os.path.join(FOLDER, "speed.csv"), "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow("program arguments thread_instructions timed_cpu_s functional_cpu_s".split())
        for (program, words), source in sorted(sources.items()):
            is_there = os.path.exists(os.path.join(arguments.programs, program))
            if not is_there or not re.search(arguments.only, program):
                continue
            timed = run(arguments, program, words, source, [])
            functional = timed and run(arguments, program, words, source, ["--functional"])
            if functional:
                writer.writerow([program, words, timed[1], f"{timed[0]:.2f}", f"{functional[0]:.2f}"])
                file.flush()


def show():
    rows = read("speed.csv")
    for column in ("timed_cpu_s", "functional_cpu_s"):
        rates = [float(row["thread_instructions"]) / 1e6 / float(row[column]) for row in rows]
        print(f"{column}: {len(rates)} runs, median {statistics.median(rates):.0f}, {min(rates):.1f} to {max(rates):.0f} M/s")
    ratios = [float(row["timed_cpu_s"]) / float(row["functional_cpu_s"]) for row in rows]
    print(f"timed over functional: median {statistics.median(ratios):.1f}, {min(ratios):.1f} to {max(ratios):.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pagemill", default="target/release/pagemill")
    parser.add_argument("--programs")
    parser.add_argument("--sources")
    parser.add_argument("--only", default="")
    parser.add_argument("--limit", type=float, default=60, help="seconds for one run of a program")
    parser.add_argument("--show", action="store_true", help="only say what the speed.csv that is there says")
    arguments = parser.parse_args()
    arguments.pagemill = os.path.abspath(arguments.pagemill)
    if not arguments.show:
        if not (arguments.programs and arguments.sources):
            parser.error("--programs and --sources say where the suites are")
        arguments.programs, arguments.sources = map(os.path.abspath, (arguments.programs, arguments.sources))
        measure(arguments)
    show()


if __name__ == "__main__":
    main()
