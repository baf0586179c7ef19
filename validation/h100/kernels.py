"""Kernels of public programs on a real H100 beside the model: kernels.csv and kernels.svg, from real.csv and the built programs.

    python3 validation/h100/kernels.py --programs BIN --sources SRC [--only REGEX] [--limit 100]

BIN has a file for each program of real.csv, SRC the folder of its suite in which it runs (its column `source` says where). A program that takes
more CPU time than the limit is stopped, and the launches that had ended count. A kernel without a time has the reason in its row. `--draw` makes
the figure and the numbers of the kernels.csv that is there.
"""

import argparse
import collections
import csv
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
SHORT_NS = 5000
SUITES = {
    "poly": ("PolyBench/GPU", "#0a6e8a"),
    "rod": ("Rodinia", "#b3541e"),
    "hec": ("HeCBench", "#4b7a1f"),
    "smp": ("CUDA samples", "#7a3e9d"),
    "llmc": ("llm.c", "#a01f3d"),
    "own": ("a probe of L2", "#666666"),
}


def bare(kernel):
    return re.sub(r"[<(].*", "", kernel).split("::")[-1]


def read(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return list(csv.DictReader(file))


def cpu_seconds(session):
    """CPU time of the living processes of a session."""
    ticks = 0
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/stat", encoding="utf-8") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def rows_of(arguments, program, words, source, options=()):
    """All rows of a program here, and why they are not of all of it. One that takes longer than the limit is stopped."""
    command = [arguments.pagemill, "cuda", "--machine", "h100-sxm", "--format", "json", *options, "--"]
    words = words.replace("DATA", os.path.join(arguments.sources, "rodinia/data")).split()
    where = os.path.join(arguments.sources, os.path.dirname(source.split(":", 1)[1]))
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as said:
        run = subprocess.Popen(
            [*command, os.path.join(arguments.programs, program), *words],
            cwd=where,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=said,
            start_new_session=True,
        )
        stopped = False
        while run.poll() is None:
            time.sleep(0.2)
            if not stopped and cpu_seconds(run.pid) > arguments.limit:
                stopped = True
                os.killpg(run.pid, signal.SIGINT)
        out.seek(0)
        said.seek(0)
        why = f"stopped after {arguments.limit:.0f} CPU s" if stopped else ""
        if run.returncode and not stopped:
            why = (said.read().strip().splitlines() or [f"ended with {run.returncode}"])[-1]
        try:
            return json.load(out)["rows"], why
        except ValueError:
            return [], why or "no table"


def simulate(arguments, program, words, source):
    """Time, launches and failure of each kernel, and why there are no more."""
    sums = collections.defaultdict(lambda: [0.0, 0, ""])
    rows, why = rows_of(arguments, program, words, source)
    for row in rows:
        if row.get("table") == "kernel":
            sums[bare(row["kernel"])][0] += row["time_ns"] or 0.0
            sums[bare(row["kernel"])][1] += row["launches"]
            sums[bare(row["kernel"])][2] = row["failure"] or ""
    return sums, why


def real_kernels():
    """By program and arguments: its source, and of each kernel its time, launches, and instances: by template, grid and block."""
    programs = {}
    for row in read("real.csv"):
        key = row["program"], row["arguments"]
        _, kernels = programs.setdefault(key, (row["source"], {}))
        kernel = kernels.setdefault(bare(row["kernel"]), [0.0, 0, set()])
        kernel[0] += float(row["real_ns"]) * int(row["launches"])
        kernel[1] += int(row["launches"])
        kernel[2].add((row["kernel"], row["grid"], row["block"]))
    return programs


def compare(program, words, kernels, ours, why):
    """A row for each kernel of the card: its time here, or why there is none."""
    for kernel, (real_time, real_launches, instances) in sorted(kernels.items()):
        real = real_time / real_launches
        time_ns, launches, failure = ours.get(kernel, (0.0, 0, ""))
        row = [program, words, kernel, launches, f"{real:.0f}"]
        if not launches:
            yield [*row, "", "", failure or why or "not launched"]
        elif why.startswith("stopped") and len(instances) > 1:
            # A mean over other instances than the card's says nothing.
            yield [*row, "", "", f"{why}, in one of {len(instances)} instances"]
        else:
            mean = time_ns / launches
            yield [*row, f"{mean:.0f}", f"{mean / real:.3f}", why]


def measure(arguments):
    """Rows of programs that are not run stay."""
    kept = [list(row.values()) for row in read("kernels.csv")]
    for (program, words), (source, kernels) in sorted(real_kernels().items()):
        is_there = os.path.exists(os.path.join(arguments.programs, program))
        if not is_there or not re.search(arguments.only, f"{program} {words}"):
            continue
        print(program, words, file=sys.stderr)
        ours, why = simulate(arguments, program, words, source)
        kept = [row for row in kept if row[:2] != [program, words]]
        kept += compare(program, words, kernels, ours, why)
        with open(os.path.join(FOLDER, "kernels.csv"), "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow("program arguments kernel launches real_ns ours_ns ours_over_real note".split())
            writer.writerows(sorted(kept))


def numbers(rows):
    for name, chosen in (
        ("at least 5 us", [row for row in rows if row[1] >= SHORT_NS]),
        ("shorter", [row for row in rows if row[1] < SHORT_NS]),
    ):
        ratios = [ours / real for _, real, ours in chosen]
        count = len(ratios)
        error = sum(abs(ratio - 1) for ratio in ratios) / max(1, count)
        mean = math.exp(sum(map(math.log, ratios)) / max(1, count))
        near = sum(abs(ratio - 1) <= 0.2 for ratio in ratios)
        print(f"{name}: {count} kernels, mean error {100 * error:.1f} %, geometric mean {mean:.2f}, {near} within 20 %")


def draw(rows):
    """Both axes are logarithmic, from 0.5 us to 500 ms."""
    low, high, size, edge = math.log10(500), math.log10(5e8), 560, 70

    def place(time_ns):
        return edge + (math.log10(time_ns) - low) / (high - low) * size

    bottom = size + 2 * edge
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {bottom} {bottom}" font-family="sans-serif" font-size="14">',
        f'<rect width="{bottom}" height="{bottom}" fill="white"/>',
        f'<path d="M{edge} {bottom - edge}L{bottom - edge} {edge}" stroke="#444"/>',
    ]
    for label, time_ns in (("1 us", 1e3), ("10 us", 1e4), ("100 us", 1e5), ("1 ms", 1e6), ("10 ms", 1e7), ("100 ms", 1e8)):
        at = place(time_ns)
        lines += [
            f'<path d="M{at:.1f} {edge}V{bottom - edge}M{edge} {bottom - at:.1f}H{bottom - edge}" stroke="#ddd"/>',
            f'<text x="{at:.1f}" y="{bottom - edge + 20}" text-anchor="middle">{label}</text>',
            f'<text x="{edge - 6}" y="{bottom - at + 5:.1f}" text-anchor="end">{label}</text>',
        ]
    for program, real, ours in rows:
        color = SUITES[program.split(".")[0]][1]
        lines.append(
            f'<circle cx="{place(real):.1f}" cy="{bottom - place(ours):.1f}" r="4.5" fill="{color}" fill-opacity="0.7">'
            f"<title>{program}: {ours / real:.2f} of the real time</title></circle>"
        )
    for index, (name, color) in enumerate(SUITES.values()):
        y = edge + 20 + 22 * index
        lines += [
            f'<circle cx="{edge + 18}" cy="{y - 5}" r="5" fill="{color}"/>',
            f'<text x="{edge + 30}" y="{y}">{name}</text>',
        ]
    middle = bottom / 2
    lines += [
        f'<text x="{middle}" y="{bottom - 20}" text-anchor="middle">time of a kernel on an H100</text>',
        f'<text transform="translate(18 {middle}) rotate(-90)" text-anchor="middle">simulated</text>',
        "</svg>",
    ]
    with open(os.path.join(FOLDER, "kernels.svg"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pagemill", default="target/release/pagemill")
    parser.add_argument("--programs")
    parser.add_argument("--sources")
    parser.add_argument("--only", default="")
    parser.add_argument("--limit", type=float, default=100, help="CPU seconds for one program")
    parser.add_argument("--draw", action="store_true")
    arguments = parser.parse_args()
    arguments.pagemill = os.path.abspath(arguments.pagemill)
    if not arguments.draw:
        if not (arguments.programs and arguments.sources):
            parser.error("--programs and --sources say where the suites are")
        arguments.programs, arguments.sources = map(os.path.abspath, (arguments.programs, arguments.sources))
        measure(arguments)
    rows = [(row["program"], float(row["real_ns"]), float(row["ours_ns"])) for row in read("kernels.csv") if row["ours_ns"]]
    numbers(rows)
    draw(rows)


if __name__ == "__main__":
    main()
