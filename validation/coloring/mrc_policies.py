"""Miss ratios of `pagemill mrc --policy` beside those of libCacheSim on the same traces, as CSV.

    pip install libcachesim==0.3.5 numpy
    python mrc_policies.py --pagemill target/release/pagemill cloudPhysicsIO.oracleGeneral.bin > mrc-policies.csv

Traces are in libCacheSim's format oracleGeneral; `--make FILE` writes a synthetic one (Zipf 0.9, with scans). CPU seconds are of
whole runs: libCacheSim simulates one size in a run, pagemill all sizes.
"""

import argparse
import csv
import json
import resource
import subprocess
import sys
import time

import libcachesim
import numpy as np

POLICIES = {
    "lru": libcachesim.LRU,
    "fifo": libcachesim.FIFO,
    "clock": libcachesim.Clock,
    "s3-fifo": libcachesim.S3FIFO,
    "arc": libcachesim.ARC,
}
SHARES = [0.01, 0.1, 0.4]
RECORD = [("time", "<u4"), ("object", "<u8"), ("bytes", "<u4"), ("next", "<i8")]


def make(path, requests=4_000_000, objects=400_000):
    random = np.random.default_rng(7)
    weights = 1 / np.arange(1, objects + 1) ** 0.9
    ids = random.choice(objects, size=requests, p=weights / weights.sum())
    for start in range(0, requests, 500_000):
        first = objects + start // 500_000 % 3 * 60_000
        ids[start : start + 60_000] = np.arange(first, first + 60_000)
    sizes = (np.exp(random.normal(8, 1.2, objects + 200_000)) + 64).astype(np.uint32)
    records = np.zeros(requests, dtype=RECORD)
    records["time"] = np.arange(requests) // 1000
    records["object"] = ids
    records["bytes"] = sizes[ids]
    records["next"] = -2
    records.tofile(path)


def theirs(path, policy, size, ignore_sizes):
    parameters = libcachesim.ReaderInitParam()
    parameters.ignore_obj_size = ignore_sizes
    reader = libcachesim.TraceReader(path, libcachesim.TraceType.ORACLE_GENERAL_TRACE, parameters)
    cache = POLICIES[policy](size)
    begun = time.process_time()
    miss_ratio, byte_miss_ratio = cache.process_trace(reader)
    return miss_ratio, byte_miss_ratio, time.process_time() - begun


def ours(pagemill, path, policies, sizes, ignore_sizes):
    command = [pagemill, "mrc", path, "--trace-format", "oracle-general", "--format", "json"]
    command += ["--policy", ",".join(policies), "--sizes", ",".join(map(str, sizes))]
    command += ["--ignore-sizes"] if ignore_sizes else []
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return json.loads(output)["rows"], seconds


def footprint(path, ignore_sizes):
    records = np.fromfile(path, dtype=RECORD)
    _, first = np.unique(records["object"], return_index=True)
    return len(first) if ignore_sizes else int(records["bytes"][first].astype(np.uint64).sum())


def compare(pagemill, path, ignore_sizes, table):
    whole = footprint(path, ignore_sizes)
    sizes = [int(whole * share) for share in SHARES]
    key = "cache_objects" if ignore_sizes else "cache_bytes"
    for policy in POLICIES:
        rows, seconds = ours(pagemill, path, [policy], sizes, ignore_sizes)
        for row in rows:
            ratio, byte_ratio, single = theirs(path, policy, row[key], ignore_sizes)
            table.writerow(
                [path.rsplit("/", 1)[-1], "objects" if ignore_sizes else "bytes", policy, row[key], row["references"]]
                + [f"{row['miss_ratio']:.6f}", f"{ratio:.6f}", f"{100 * (row['miss_ratio'] - ratio):+.3f}"]
                + [f"{seconds:.2f}", f"{single:.2f}"]
            )
    # All of 64 sizes at once.
    _, seconds = ours(pagemill, path, ["lru"], [max(1, whole * part // 64) for part in range(1, 65)], ignore_sizes)
    table.writerow([path.rsplit("/", 1)[-1], "objects" if ignore_sizes else "bytes", "lru", "64 sizes"] + [""] * 4 + [f"{seconds:.2f}", ""])


class Flushed:
    """Standard output, row by row: a run that is ended keeps what it has."""

    def write(self, text):
        sys.stdout.write(text)
        sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pagemill", default="pagemill")
    parser.add_argument("--make", metavar="FILE")
    parser.add_argument("traces", nargs="*")
    arguments = parser.parse_args()
    if arguments.make:
        make(arguments.make)
    table = csv.writer(Flushed(), lineterminator="\n")
    table.writerow(
        ["trace", "sizes", "policy", "cache", "references", "miss_ratio", "libcachesim_miss_ratio", "off_points"]
        + ["cpu_s_all_sizes", "libcachesim_cpu_s_one_size"]
    )
    for path in arguments.traces:
        for ignore_sizes in (True, False):
            compare(arguments.pagemill, path, ignore_sizes, table)


if __name__ == "__main__":
    main()
