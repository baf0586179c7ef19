"""Real programs with 2 and 4 times their budget of memory: results, time and bytes moved.

    python3 validation/pager/programs.py --pagemill target/release/pagemill > validation/pager/programs.csv

Each program runs in memory first; then under the pager with frames for everything, which shows its footprint; then with a half and a
quarter of that, whole pages and many ranges. A result that differs ends the script with exit code 1.

With `--swap`, as root and where swap is on, it also runs under the kernel's swap: in a memory cgroup (version 1) that holds what the
program has beside its footprint, and the same half or quarter of that. Swap to compressed memory, 2 GiB of it:

    echo lz4 > /sys/block/zram0/comp_algorithm; echo 2G > /sys/block/zram0/disksize
    mkswap /dev/zram0; swapon /dev/zram0; ...; swapoff /dev/zram0; echo 1 > /sys/block/zram0/reset
"""

import argparse
import csv
import hashlib
import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))

DICT = """
import hashlib
d = {}
for i in range(300000):
    d[f"key{i * 7919 % 400009}"] = i
h = hashlib.sha256()
for i in range(0, 400009, 3):
    h.update(str(d.get(f"key{i}")).encode())
print(len(d), h.hexdigest())
"""
MATMUL = """
import numpy, hashlib
n, b = 1280, 256
r = numpy.random.default_rng(1)
x, y, z = r.random((n, n)), r.random((n, n)), numpy.zeros((n, n))
for i in range(0, n, b):
    for j in range(0, n, b):
        for k in range(0, n, b):
            z[i:i + b, j:j + b] += x[i:i + b, k:k + b] @ y[k:k + b, j:j + b]
print(hashlib.sha256(z.tobytes()).hexdigest())
"""
SORT = """
import numpy, hashlib
a = numpy.random.default_rng(1).integers(0, 1 << 40, 1 << 22)
a.sort()
print(hashlib.sha256(a).hexdigest())
"""
STENCIL = """
import numpy, hashlib
n = 1536
a, b = numpy.random.default_rng(1).random((n, n)), numpy.zeros((n, n))
for _ in range(6):
    for i in range(1, n - 1):
        b[i, 1:-1] = 0.25 * (a[i - 1, 1:-1] + a[i + 1, 1:-1] + a[i, :-2] + a[i, 2:])
    a, b = b, a
print(hashlib.sha256(a).hexdigest())
"""
SQLITE = """
pragma cache_size=-400000; create table t(a integer primary key, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 150000)
insert into t select i, hex(i * 7919 % 1000003) || printf('%0150d', i) from n;
create index x on t(b); select sum(length(b)), min(b), max(b) from t;
select group_concat(a) from (select a from t order by b limit 1000);
select sum(u.a) from t join t u on u.a = t.a * 7 % 150000 + 1;
"""
DUCKDB = """
import duckdb
c = duckdb.connect(config={"threads": 2, "preserve_insertion_order": True})
c.execute("create table t as select i as a, hash(i) % 400000 as b, hash(i + 7) as c from range(700000) r(i)")
print(c.execute("select count(*), sum(t.c % 1000), sum(u.c % 1000) from t join t u on t.b = u.a").fetchall())
print(c.execute("select sum(a * (n % 97)) from (select a, row_number() over (order by c) as n from t)").fetchall())
print(c.execute("select sum(b) from (select b from t order by c, b limit 300000)").fetchall())
"""


def gcc_source(folder):
    path = os.path.join(folder, "large.c")
    with open(path, "w") as file:
        for i in range(1200):
            file.write(f"int f{i}(int *p, int n) {{ int s = {i}; for (int k = 0; k < n; k++) {{ s += p[k] * {i + 1}; p[k] ^= s; }} return s; }}\n")
    return path


def programs(arguments, folder):
    numpy = [arguments.python, "-c"]
    graph = os.path.join(folder, "graph")
    subprocess.run(["cc", "-O2", "-o", graph, os.path.join(HERE, "graph.c")], check=True)
    found = {
        "graph": [graph, "400000", "16"],
        "python-dict": ["python3", "-S", "-c", DICT],
        "sqlite": ["sqlite3", ":memory:", SQLITE],
        "gcc": ["gcc", "-O2", "-S", "-o", "-", gcc_source(folder)],
    }
    if shutil.which(arguments.python) and subprocess.run([*numpy, "import numpy"], capture_output=True).returncode == 0:
        found["duckdb"] = [*numpy, DUCKDB]
        if subprocess.run([*numpy, "import duckdb"], capture_output=True).returncode:
            del found["duckdb"]
        found |= {"numpy-matmul": [*numpy, MATMUL], "numpy-sort": [*numpy, SORT], "numpy-stencil": [*numpy, STENCIL]}
    return {name: command for name, command in found.items() if shutil.which(command[0])}


class Redis:
    """A server, and the load that it gets: keys set by chance, and all of them read."""

    KEYS = 150000

    def __init__(self, folder, sets=100000):
        self.sets = sets
        self.path = os.path.join(folder, "redis.sock")
        self.command = ["redis-server", "--port", "0", "--unixsocket", self.path, "--save", "", "--appendonly", "no"]
        self.command += ["--io-threads", "1", "--activerehashing", "no"]

    def load(self):
        client = socket.socket(socket.AF_UNIX)
        while True:
            try:
                client.connect(self.path)
                break
            except OSError:
                time.sleep(0.02)
        answers = client.makefile("rb")

        def all_of(requests, read):
            batch = []
            for request in requests:
                batch.append(b"*%d\r\n" % len(request) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in request))
                if len(batch) == 256:
                    client.sendall(b"".join(batch))
                    [read() for _ in batch]
                    batch = []
            client.sendall(b"".join(batch))
            [read() for _ in batch]

        def value(key, version):
            return hashlib.sha256(b"%d %d" % (key, version)).hexdigest().encode()[:50] * 2

        started = time.monotonic()
        all_of(([b"SET", b"key:%d" % key, value(key, 0)] for key in range(self.KEYS)), answers.readline)
        chance = 1
        keys = []
        for _ in range(self.sets):
            chance = (chance * 6364136223846793005 + 1442695040888963407) % (1 << 64)
            keys.append((chance >> 33) % self.KEYS)
        all_of(([b"SET", b"key:%d" % key, value(key, 1)] for key in keys), answers.readline)
        digest = hashlib.sha256()

        def read_value():
            answers.readline()
            digest.update(answers.readline())

        all_of(([b"GET", b"key:%d" % key] for key in range(self.KEYS)), read_value)
        taken = time.monotonic() - started
        client.sendall(b"*2\r\n$8\r\nSHUTDOWN\r\n$6\r\nNOSAVE\r\n")
        return digest.hexdigest(), taken


CGROUP = "/sys/fs/cgroup/memory/pagemill-validation"


def swapped(command, limit_bytes, redis):
    """Output and seconds with so many bytes of memory, and the kernel's swap."""
    os.makedirs(CGROUP, exist_ok=True)
    try:
        with open(os.path.join(CGROUP, "memory.limit_in_bytes"), "w") as file:
            file.write(str(limit_bytes))
        return run(["sh", "-c", f'echo $$ > {CGROUP}/cgroup.procs; exec "$@"', "sh", *command], redis)
    finally:
        time.sleep(0.5)
        os.rmdir(CGROUP)


def run(command, redis=None):
    """Output, seconds."""
    started = time.monotonic()
    if redis is None:
        done = subprocess.run(command, capture_output=True)
        if done.returncode:
            raise SystemExit(f"{command[:9]}: exit code {done.returncode}: {done.stderr.decode()[-2000:]}")
        return done.stdout, time.monotonic() - started
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        digest, taken = redis.load()
        server.wait(60)
    finally:
        server.kill()
    return digest.encode(), taken


def paged(arguments, folder, command, budget, policy, redis):
    out = os.path.join(folder, "out")
    pager = [arguments.pagemill, "pager", "run", "--memory", f"{budget}B", "--to", arguments.to, "--policy", policy, "--out", out]
    # Whole pages are followed by no others: they are large enough.
    pager += ["--read-ahead", "none"] if policy == "whole-page" else []
    # SQLite takes its pages one at a time.
    pager += ["--least", "4KiB"] if command[0] == "sqlite3" else []
    output, taken = run([*pager, "--", *command], redis)
    with open(os.path.join(out, "results.json")) as file:
        return output, taken, json.load(file)["rows"][0]


def rows(arguments, folder, name, command, redis):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    expected, in_memory = run(command, redis)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    _, _, all_frames = paged(arguments, folder, command, 8 << 30, "multi-range", redis)
    footprint = all_frames["resident_units_max"] * 4096
    for factor in map(int, arguments.factors.split(",")):
        budget = max(footprint // factor, 1 << 20)
        swap = ""
        if arguments.swap and peak > before:
            output, taken = swapped(command, max(peak * 1024 - footprint, 4 << 20) + budget, redis)
            swap = f"{taken:.2f}"
            if output != expected:
                raise SystemExit(f"{name}: another result under swap")
        for policy in arguments.policies.split(","):
            output, taken, row = paged(arguments, folder, command, budget, policy, redis)
            if output != expected:
                raise SystemExit(f"{name}: another result at {factor} times the budget")
            yield {
                "program": name,
                "factor": factor,
                "footprint_bytes": footprint,
                "memory_bytes": budget,
                "to": "folder" if os.path.isdir(arguments.to) else arguments.to,
                "policy": policy,
                "in_memory_s": f"{in_memory:.2f}",
                "paged_s": f"{taken:.2f}",
                "swap_s": swap,
                "faults": row["read_faults"] + row["write_faults"],
                "fetched_bytes": row["fetched_units"] * 4096,
                "written_bytes": row["written_bytes"],
                "evicted_bytes": row["evicted_units"] * 4096,
                "handler_cpu_s": f"{row['handler_cpu_ns'] / 1e9:.2f}",
            }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pagemill", default="target/release/pagemill")
    parser.add_argument("--python", default="target/venv/python/bin/python", help="a Python that has NumPy")
    parser.add_argument("--to", default="compressed")
    parser.add_argument("--factors", default="2,4")
    parser.add_argument("--policies", default="multi-range,whole-page")
    parser.add_argument("--swap", action="store_true", help="measure the kernel's swap, too")
    parser.add_argument("--only", default="", help="programs by name, with commas between")
    arguments = parser.parse_args()
    arguments.pagemill = os.path.abspath(arguments.pagemill)
    writer = None
    with tempfile.TemporaryDirectory() as folder:
        todo = [(name, command, None) for name, command in programs(arguments, folder).items()]
        if shutil.which("redis-server"):
            todo.append(("redis", Redis(folder).command, Redis(folder)))
        for name, command, redis in todo:
            if arguments.only and name not in arguments.only.split(","):
                continue
            for row in rows(arguments, folder, name, command, redis):
                if writer is None:
                    writer = csv.DictWriter(sys.stdout, row, lineterminator="\n")
                    writer.writeheader()
                writer.writerow(row)
                sys.stdout.flush()


if __name__ == "__main__":
    main()
