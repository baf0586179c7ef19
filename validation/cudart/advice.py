#!/usr/bin/env python3
"""What `pagemill advise` gains for ten programs of examples/cuda; writes one row for each program, machine and factor.

usage: advice.py [--pagemill PATH] [--nvcc PATH] [--machine NAME ..] [--factor F ..] [--runs N] [--out CSV] [PROGRAM ..]

Each row is checked by hand, as it were: the calls that are advised are written into a copy of the source at the lines that the
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
    "bfs": 1, "hash_join": 2, "key_value": 4, "kmeans": 2, "managed_histogram": 16, "managed_matmul": 3, "sort": 1,
    "spmv": 2, "stencil": 3, "transpose": 4,
}
COLUMNS = ["program", "argument", "machine", "factor", "peak_bytes", "capacity_bytes", "time_ns", "advised_ns", "speedup",
           "by_hand_ns", "runs", "hints"]

# The calls of each of the advisor's transfer modes, over all allocations in their order, each beginning at a multiple of 2 MiB.
PLACEMENT = """
#include <utility>
#include <vector>
static std::vector<std::pair<char *, size_t>> placed_memory;
static const size_t placed_stripe = 2 << 20;
template <typename EACH> static void place_each(const std::vector<bool> &on_gpu, EACH each) {
    char *base = placed_memory[0].first;
    for (auto [p, bytes] : placed_memory) {
        for (size_t from = 0; from < bytes;) {
            const bool side = on_gpu[(p + from - base) / placed_stripe];
            size_t to = from;
            while (to < bytes && on_gpu[(p + to - base) / placed_stripe] == side) to += placed_stripe;
            to = to < bytes ? to : bytes;
            each(p + from, to - from, side);
            from = to;
        }
    }
}
static void place_memory(const char *mode, size_t gpu_bytes) {
    const cudaMemLocation gpu = {cudaMemLocationTypeDevice, 0}, cpu = {cudaMemLocationTypeHost, 0};
    const std::string name = mode;
    for (auto [p, bytes] : placed_memory) {
        if (name == "zero-copy") cudaMemAdvise(p, bytes, cudaMemAdviseSetPreferredLocation, cpu);
        if (name == "zero-copy" || name == "bulk-prefetch") cudaMemAdvise(p, bytes, cudaMemAdviseSetAccessedBy, gpu);
        if (name == "read-mostly") cudaMemAdvise(p, bytes, cudaMemAdviseSetReadMostly, gpu);
    }
    for (auto [p, bytes] : placed_memory) if (name == "bulk-prefetch") cudaMemPrefetchAsync(p, bytes, gpu, 0, 0);
    if (name != "stripe" && name != "stripe-even") return cudaDeviceSynchronize(), void();
    const auto [last, last_bytes] = placed_memory.back();
    const size_t whole = last + last_bytes - placed_memory[0].first;
    const size_t total = (whole + placed_stripe - 1) / placed_stripe * placed_stripe, stripes = total / placed_stripe;
    size_t room = gpu_bytes / placed_stripe;
    const size_t fitting = room < stripes ? room : stripes;
    std::vector<bool> on_gpu(stripes);
    for (size_t s = 0; s < stripes; s++) {
        bool wished = (s + 1) * fitting / stripes > s * fitting / stripes;
        if (name == "stripe") {
            const size_t over = total > gpu_bytes ? total - gpu_bytes : 0;
            const bool turn = over > gpu_bytes;
            const size_t part = turn ? gpu_bytes : over, period = part ? (total + part / 2) / part : ~size_t(0);
            wished = (s != 0 && s % period == 0) == turn;
        }
        on_gpu[s] = wished && room > 0;
        room -= on_gpu[s];
    }
    place_each(on_gpu, [&](char *p, size_t bytes, bool side) {
        const cudaMemLocation where = side ? gpu : cpu;
        cudaMemPrefetchAsync(p, bytes, where, 0, 0);
        cudaMemAdvise(p, bytes, cudaMemAdviseSetPreferredLocation, where);
        if (!side) cudaMemAdvise(p, bytes, cudaMemAdviseSetAccessedBy, gpu);
    });
    cudaDeviceSynchronize();
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
    done = subprocess.run(line, capture_output=True, text=True, check=False)
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
    for row in rows:
        call = row["call"]
        if row["allocation"] == "(all)":
            for allocation in allocations:
                at = line_of(allocation)
                p, size = allocation_in(lines[at - 1])
                after.setdefault(at, []).append(f"placed_memory.push_back({{(char *){p}, {size}}});")
            once = f'place_memory("{row["change"]}", {capacity});'
            before.setdefault(line_of(row["place"]), []).append(once_only(once))
            continue
        p, size = allocation_in(lines[line_of(row["allocation"]) - 1])
        call = re.sub(r"\(p, bytes", f"({p}, {size}", call).replace("stream)", "0, 0)")
        if row["place"].startswith("before"):
            before.setdefault(line_of(row["place"]), []).append(once_only(call))
        else:
            after.setdefault(line_of(row["place"]), []).append(call)
    text = []
    for number, line in enumerate(lines, 1):
        text += before.get(number, []) + [line] + after.get(number, [])
        if line == '#include "check.h"':
            text.append(LOCATIONS + ("#include <string>" + PLACEMENT if rows and rows[0]["allocation"] == "(all)" else ""))
    return "\n".join(text) + "\n"


def once_only(call):
    """`call`, the first time that control gets there: launches may be in loops."""
    return f"{{ static bool done = false; if (!done) {{ {call} }} done = true; }}"


def measure(arguments, name, program, machine, factor, build):
    """The row of one program on one machine with one factor."""
    argument = str(PROGRAMS[name])
    where = ["--machine", machine, "--oversubscribe", str(factor)]
    results = pagemill(arguments, "advise", [*where, "--runs", str(arguments.runs), "--", str(program), argument])
    changes = [row for row in results["rows"] if row["row"] == "change"]
    allocations = [row["allocation"] for row in results["rows"] if row["row"] == "allocation"]
    kept = [row for row in changes if row["verdict"] == "kept"]
    before = max(row["time_before_ns"] for row in changes)
    best = min([row["time_ns"] for row in kept], default=before)
    peak, capacity = map(int, re.search(r"has (\d+) bytes at its peak on a GPU with (\d+)", results["about"]).groups())
    # In the order in which they were kept, which is that of the advisor's own calls.
    kept.sort(key=lambda row: -row["time_ns"])
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


def main():
    """Measures and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pagemill", type=pathlib.Path, default=ROOT / "target/release/pagemill")
    parser.add_argument("--nvcc", type=pathlib.Path)
    parser.add_argument("--machine", action="append")
    parser.add_argument("--factor", action="append", type=float)
    parser.add_argument("--runs", type=int, default=24)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("advice.csv"))
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    arguments = parser.parse_args()
    if not arguments.nvcc:
        found = sorted(ROOT.glob("target/venv/cuda/lib/*/site-packages/nvidia/cu13/bin/nvcc"))
        arguments.nvcc = found[0] if found else pathlib.Path("/usr/local/cuda/bin/nvcc")
    wrong = 0
    with tempfile.TemporaryDirectory() as folder, open(arguments.out, "w", newline="", encoding="utf-8") as out:
        build = pathlib.Path(folder)
        writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for name in arguments.programs or PROGRAMS:
            program = compiled(arguments.nvcc, EXAMPLES / f"{name}.cu", name, build)
            for machine in arguments.machine or ["a100-pcie4-x86", "gh200"]:
                for factor in arguments.factor or [0.8, 1.25, 2.0]:
                    row = measure(arguments, name, program, machine, factor, build)
                    writer.writerow(row)
                    out.flush()
                    print(*row.values(), sep="\t", flush=True)
                    wrong += row["advised_ns"] != row["by_hand_ns"] or row["advised_ns"] > 1.02 * row["time_ns"]
    sys.exit(f"{wrong} rows: by hand it takes another time, or the advice makes it slower" if wrong else 0)


if __name__ == "__main__":
    main()
