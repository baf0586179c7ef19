#!/usr/bin/env python3
"""What `pagemill advise program` gains for ten programs of examples/cuda; writes one row for each program, machine and factor.

usage: advice.py [--pagemill PATH] [--nvcc PATH] [--machine NAME ..] [--factor F ..] [--runs N] [--timeout SECONDS] [--out CSV] [PROGRAM ..]

Rows that the CSV has already are kept, so that a run that was ended can be taken up again. Each row is checked by hand, as it were: the calls that are advised are written into a copy of the source at the lines that the
advisor names, and that program, run by `pagemill cuda` without the advisor, has to take the same simulated time (`by_hand_ns`).
"""

import argparse
import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples/cuda"
# The argument of each: MiB of its main data.
PROGRAMS = {
    "bfs": 0.25, "hash_join": 2, "key_value": 4, "kmeans": 0.5, "managed_histogram": 16, "managed_matmul": 1, "sort": 0.25,
    "spmv": 2, "stencil": 3, "transpose": 4,
}
COLUMNS = ["program", "argument", "machine", "factor", "peak_bytes", "capacity_bytes", "time_ns", "advised_ns", "speedup",
           "by_hand_ns", "runs", "hints"]

# The calls of each placement, over the allocations in their order, as if nothing lay between them; each begins at a multiple of
# 2 MiB.
PLACEMENT = """
#include <string>
#include <utility>
#include <vector>
static std::vector<std::pair<char *, size_t>> placed_memory;
static const size_t placed_stripe = 2 << 20;
static size_t placed_stripes(size_t bytes) { return (bytes + placed_stripe - 1) / placed_stripe; }
static std::vector<bool> placed_sides(const std::string &mode, size_t stripes, size_t room) {
    const size_t fitting = room < stripes ? room : stripes, over = stripes > room ? stripes - room : 0;
    const bool turn = over > room;
    const size_t part = turn ? room : over, period = part ? (stripes + part / 2) / part : ~size_t(0);
    std::vector<bool> on_gpu(stripes);
    for (size_t s = 0; s < stripes; s++) {
        bool wished = (s + 1) * fitting / stripes > s * fitting / stripes;
        if (mode == "stripe") wished = (s != 0 && s % period == 0) == turn;
        on_gpu[s] = wished && room > 0;
        room -= on_gpu[s];
    }
    return on_gpu;
}
static void place_memory(const std::string &mode, size_t gpu_bytes) {
    const cudaMemLocation gpu = {cudaMemLocationTypeDevice, 0}, cpu = {cudaMemLocationTypeHost, 0};
    size_t stripes = 0, first = 0;
    for (auto [p, bytes] : placed_memory) stripes += placed_stripes(bytes);
    const std::vector<bool> on_gpu = placed_sides(mode, stripes, gpu_bytes / placed_stripe);
    for (auto [p, bytes] : placed_memory) {
        if (mode == "zero-copy") cudaMemAdvise(p, bytes, cudaMemAdviseSetPreferredLocation, cpu);
        if (mode == "zero-copy" || mode == "bulk-prefetch") cudaMemAdvise(p, bytes, cudaMemAdviseSetAccessedBy, gpu);
        if (mode == "bulk-prefetch") cudaMemPrefetchAsync(p, bytes, gpu, 0, 0);
        if (mode == "read-mostly") cudaMemAdvise(p, bytes, cudaMemAdviseSetReadMostly, gpu);
        for (size_t from = 0; from < bytes && mode.rfind("stripe", 0) == 0;) {
            const bool side = on_gpu[first + from / placed_stripe];
            size_t to = from;
            while (to < bytes && on_gpu[first + to / placed_stripe] == side) to += placed_stripe;
            to = to < bytes ? to : bytes;
            const cudaMemLocation where = side ? gpu : cpu;
            cudaMemPrefetchAsync(p + from, to - from, where, 0, 0);
            cudaMemAdvise(p + from, to - from, cudaMemAdviseSetPreferredLocation, where);
            if (!side) cudaMemAdvise(p + from, to - from, cudaMemAdviseSetAccessedBy, gpu);
            from = to;
        }
        first += placed_stripes(bytes);
    }
}
"""
LOCATIONS = "static const cudaMemLocation device = {cudaMemLocationTypeDevice, 0}, cpu = {cudaMemLocationTypeHost, 0};\n"


def compiled(nvcc, source, name, build):
    """The program of `source`."""
    program = build / name
    libraries = nvcc.parents[1] / "lib"
    subprocess.run([nvcc, "-g", "-w", "-std=c++17", "-L", libraries, "-I", EXAMPLES, "-o", program, source], check=True)
    return program


def pagemill(arguments, command, options):
    """The results of a command."""
    line = [arguments.pagemill, command, "--format", "json", *options]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=arguments.timeout)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, line))}: exit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def line_of(place):
    """The number of the last line that a place names."""
    return int(re.findall(r"\.cu:(\d+)", place)[-1])


def allocation_in(line):
    """The variable that a line allocates, and its bytes."""
    if found := re.search(r"cudaMallocManaged\(&(\w+), (.*)\)\);", line):
        return found[1], found[2]
    if found := re.search(r"(\w+) = managed<([\w ]+)>\((.*)\);", line):
        return found[1], f"({found[3]}) * sizeof({found[2]})"
    sys.exit(f"no allocation in: {line}")


def by_hand(source, rows, allocations, capacity):
    """The text of `source` with the calls of `rows`."""
    lines = source.read_text().splitlines()
    before, after = {}, {}
    hinted = [row["allocation"] for row in rows]
    for row in rows:
        if row["change"] == "leave alone":
            continue
        if row["allocation"] == "(all)":
            for allocation in allocations:
                if allocation in hinted:
                    continue
                at = line_of(allocation)
                p, size = allocation_in(lines[at - 1])
                after.setdefault(at, []).append(f"placed_memory.push_back({{(char *){p}, {size}}});")
            once = f'place_memory("{row["change"]}", {capacity});'
            before.setdefault(line_of(row["place"]), []).append(once_only(once))
            continue
        p, size = allocation_in(lines[line_of(row["allocation"]) - 1])
        call = re.sub(r"\(p, bytes", f"({p}, {size}", row["call"]).replace("stream)", "0, 0)")
        if row["place"].startswith("before"):
            before.setdefault(line_of(row["place"]), []).append(once_only(call))
        else:
            after.setdefault(line_of(row["allocation"]), []).append(call)
    text = []
    for number, line in enumerate(lines, 1):
        text += before.get(number, []) + [line] + after.get(number, [])
        if line == '#include "check.h"':
            text.append(LOCATIONS + (PLACEMENT if "(all)" in hinted else ""))
    return "\n".join(text) + "\n"


def once_only(call):
    """`call`, the first time that control gets there: launches may be in loops."""
    return f"{{ static bool done = false; if (!done) {{ {call} }} done = true; }}"


def measure(arguments, name, program, machine, factor, build):
    """The row of one program on one machine with one factor."""
    argument = str(PROGRAMS[name])
    where = ["--machine", machine, "--oversubscribe", str(factor)]
    results = pagemill(arguments, "advise", ["program", *where, "--runs", str(arguments.runs), "--", str(program), argument])
    changes = [row for row in results["rows"] if row["table"] == "change"]
    allocations = [row["allocation"] for row in results["rows"] if row["table"] == "allocation"]
    kept = [row for row in changes if row["verdict"] == "kept"]
    before = max(row["time_before_ns"] for row in changes)
    best = min([row["time_ns"] for row in kept], default=before)
    peak, capacity = map(int, re.search(r"has (\d+) bytes at its peak on a GPU with (\d+)", results["about"]).groups())
    # A placement first, then in the order of the allocations: that of the advisor's own calls.
    kept.sort(key=lambda row: (row["allocation"] != "(all)", row["allocation"] != "(all)" and line_of(row["allocation"])))
    source = build / f"{name}.cu"
    source.write_text(by_hand(EXAMPLES / f"{name}.cu", kept, sorted(allocations, key=line_of), capacity))
    hinted = compiled(arguments.nvcc, source, f"{name}_by_hand", build)
    row = pagemill(arguments, "cuda", [*where, "--", str(hinted), argument])["rows"][0]
    return {
        "program": name, "argument": argument, "machine": machine, "factor": factor, "peak_bytes": peak,
        "capacity_bytes": capacity, "time_ns": before, "advised_ns": best, "speedup": f"{before / best:.3f}",
        "by_hand_ns": row["time_ns"], "runs": re.match(r"(\d+) runs", results["about"])[1],
        "hints": "; ".join(f"{hint['change']}: {hint['allocation']}" for hint in kept),
    }


def arguments_of():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pagemill", type=pathlib.Path, default=ROOT / "target/release/pagemill")
    parser.add_argument("--nvcc", type=pathlib.Path)
    parser.add_argument("--machine", action="append")
    parser.add_argument("--factor", action="append", type=float)
    parser.add_argument("--runs", type=int, default=24)
    parser.add_argument("--timeout", type=float, help="seconds that a command may take; its row is left out if it takes more")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("advice.csv"))
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    arguments = parser.parse_args()
    if not arguments.nvcc:
        found = sorted(ROOT.glob("target/venv/cuda/lib/*/site-packages/nvidia/cu13/bin/nvcc"))
        arguments.nvcc = found[0] if found else pathlib.Path("/usr/local/cuda/bin/nvcc")
    return arguments


def key_of(row):
    """What a row is about."""
    return row["program"], row["argument"], row["machine"], float(row["factor"])


def is_wrong(row):
    """Whether it takes another time by hand, or the advice makes it slower."""
    before, advised, hand = (int(row[name]) for name in ("time_ns", "advised_ns", "by_hand_ns"))
    return advised != hand or advised > 1.02 * before


def main():
    """Measures and writes."""
    arguments = arguments_of()
    rows = []
    if arguments.out.exists():
        with open(arguments.out, newline="", encoding="utf-8") as known:
            rows = list(csv.DictReader(known))
    known = {key_of(row) for row in rows}
    with tempfile.TemporaryDirectory() as folder, open(arguments.out, "a", newline="", encoding="utf-8") as out:
        build = pathlib.Path(folder)
        writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
        if not rows:
            writer.writeheader()
        for name in arguments.programs or PROGRAMS:
            program = compiled(arguments.nvcc, EXAMPLES / f"{name}.cu", name, build)
            for machine in arguments.machine or ["a100-pcie4-x86", "gh200"]:
                for factor in arguments.factor or [0.8, 1.25, 2.0]:
                    if (name, str(PROGRAMS[name]), machine, factor) in known:
                        continue
                    try:
                        row = measure(arguments, name, program, machine, factor, build)
                    except subprocess.TimeoutExpired as late:
                        print(f"{name} on {machine} at {factor}: {late}", file=sys.stderr, flush=True)
                        continue
                    rows.append(row)
                    writer.writerow(row)
                    out.flush()
                    print(*row.values(), sep="\t", flush=True)
    wrong = sum(map(is_wrong, rows))
    sys.exit(f"{wrong} rows: by hand it takes another time, or the advice makes it slower" if wrong else 0)


if __name__ == "__main__":
    main()
