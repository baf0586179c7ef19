"""Programs of 1 GiB with a half and a quarter of it: the pager, swap to zram, swap to a file, and plain memory.

    python3 validation/pager/programs.py > validation/pager/programs.csv

As root, on a computer that does nothing else and has no swap of its own. Each program runs plainly first, then under the pager with
frames for everything, which shows how much of its memory is paged; then with frames for a half and a quarter of that. Swap gets a memory
cgroup (version 1 or 2) that holds the same, and what the program has beside. Every result is compared with that of the plain run: a
difference ends the script with exit code 1. A run of more than `--limit` seconds is ended, and so is, by the kernel, one whose cgroup cannot
hold it: the column `end` says so.

CPU time is that of the program and its threads, the kernel's on their behalf included; what kernel threads do for swap is not in it.
Memory is the most that the program had at once, and the most that zram had beside it; compressed memory of the pager is the program's.
"""

import argparse
import csv
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))

PASSES = """
import numpy, zlib
n, block = (1 << 30) // 8, 1 << 20
a = numpy.empty(n, numpy.int64)
for i in range(0, n, block):
    a[i:i + block] = numpy.arange(i, i + block) % 1000
total = 0
for turn in range(3):
    for i in range(0, n, block):
        part = a[i:i + block]
        part += turn
        total += int(part.sum())
print(total, zlib.crc32(a[::65537].tobytes()))
"""
SORT = """
import numpy, zlib
a = numpy.random.default_rng(1).integers(0, 1 << 40, 1 << 27)
a.sort()
print(zlib.crc32(a[::4099].tobytes()))
"""
DICT = """
import random
random.seed(1)
n = 9_000_000
d = {i: i * 7 for i in range(n)}
print(sum(d[random.randrange(n)] for _ in range(500_000)))
"""


def programs(python, folder):
    """Every program's command, by name."""
    lookups = os.path.join(folder, "lookups")
    subprocess.run(["cc", "-O2", "-o", lookups, os.path.join(HERE, "lookups.c")], check=True)
    found = {"lookups": [lookups, "1024", "1000000"], "python-dict": [python, "-S", "-c", DICT]}
    if subprocess.run([python, "-c", "import numpy"], capture_output=True).returncode == 0:
        found |= {"numpy-passes": [python, "-c", PASSES], "numpy-sort": [python, "-c", SORT]}
    return found


def run(command, limit_s):
    """Output, seconds, CPU seconds, peak bytes; a word in place of the output where it was ended."""
    with tempfile.TemporaryFile() as out:
        started = time.monotonic()
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE, start_new_session=True)
        is_over = False
        while True:
            process, status, usage = os.wait4(child.pid, os.WNOHANG)
            if process:
                break
            if not is_over and time.monotonic() - started > limit_s:
                os.killpg(child.pid, signal.SIGKILL)
                is_over = True
            time.sleep(0.01)
        taken = time.monotonic() - started
        child.returncode = os.waitstatus_to_exitcode(status)
        errors = child.stderr.read().decode()[-2000:]
        child.stderr.close()
        out.seek(0)
        output = out.read()
        if is_over:
            output = "over"
        elif child.returncode == -signal.SIGKILL:
            output = "ended by the kernel"
        elif child.returncode:
            raise SystemExit(f"{command[:9]}: exit code {child.returncode}: {errors}")
        return output, taken, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


class Zram:
    """Swap to compressed memory, by LZ4."""

    name = "zram"
    path = "/sys/block/zram0/"

    def __enter__(self):
        self.write("reset", "1")
        self.write("comp_algorithm", "lz4")
        self.write("disksize", "4G")
        subprocess.run(["mkswap", "/dev/zram0"], check=True, capture_output=True)
        subprocess.run(["swapon", "/dev/zram0"], check=True)
        return self

    def __exit__(self, *_):
        subprocess.run(["swapoff", "/dev/zram0"], check=True)
        self.write("reset", "1")

    def write(self, name, value):
        with open(self.path + name, "w") as file:
            file.write(value)

    def bytes(self):
        with open(self.path + "mm_stat") as file:
            return int(file.read().split()[4])


class SwapFile:
    """Swap to a file of the file system that the folder of the pager is in."""

    name = "swap-file"

    def __init__(self, folder):
        self.path = os.path.join(folder, "swap")

    def __enter__(self):
        with open(self.path, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, 4 << 30)
        os.chmod(self.path, 0o600)
        subprocess.run(["mkswap", self.path], check=True, capture_output=True)
        subprocess.run(["swapon", self.path], check=True)
        return self

    def __exit__(self, *_):
        subprocess.run(["swapoff", self.path], check=True)
        os.unlink(self.path)

    def bytes(self):
        return 0


def in_cgroup(command, bytes):
    """The command, in a memory cgroup of so many bytes; and the cgroup."""
    version_1 = "/sys/fs/cgroup/memory"
    if os.path.isdir(version_1):
        group, limit = version_1 + "/pagemill-validation", "memory.limit_in_bytes"
    else:
        with open("/sys/fs/cgroup/cgroup.subtree_control", "w") as file:
            file.write("+memory")
        group, limit = "/sys/fs/cgroup/pagemill-validation", "memory.max"
    os.makedirs(group, exist_ok=True)
    with open(os.path.join(group, limit), "w") as file:
        file.write(str(bytes))
    return ["sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh", *command], group


def swapped(swap, command, bytes, limit_s):
    """As `run`, under a kind of swap, and the bytes of its store."""
    with swap:
        inside, group = in_cgroup(command, bytes)
        try:
            measured = run(inside, limit_s)
            return *measured, swap.bytes()
        finally:
            time.sleep(1)
            os.rmdir(group)


def paged(arguments, command, budget, store, folder):
    """As `run`, under the pager, and its row of results."""
    out = os.path.join(folder, "out")
    shutil.rmtree(out, ignore_errors=True)
    pager = [arguments.pagemill, "pager", "run", "--memory", f"{budget}B", "--to", store, "--out", out]
    measured = run([*pager, "--", *command], arguments.limit)
    if isinstance(measured[0], str):
        return *measured, None
    with open(os.path.join(out, "results.json")) as file:
        row = json.load(file)["rows"][0]
    return *measured[:3], row["peak_bytes"], row


def rows(arguments, folder, name, command):
    expected, plain_s, plain_cpu_s, plain_bytes = run(command, arguments.limit)
    *_, all_frames = paged(arguments, command, 16 << 30, "compressed", folder)
    paged_bytes = all_frames["resident_units_max"] * 4096

    def row(part, how, measured, moved=""):
        output, taken, cpu_s, bytes = measured
        is_whole = not isinstance(output, str)
        if is_whole and output != expected:
            raise SystemExit(f"{name}, {part}, {how}: another result")
        return {
            "program": name,
            "paged_bytes": paged_bytes,
            "in_memory": part,
            "how": how,
            "end": "whole" if is_whole else output,
            "time_s": f"{taken:.1f}",
            "cpu_s": f"{cpu_s:.1f}" if is_whole else "",
            "memory_bytes": bytes if is_whole else "",
            "moved_bytes": moved,
        }

    def is_asked(how):
        return how.startswith(arguments.how)

    if is_asked("plain"):
        yield row("all", "plain", (expected, plain_s, plain_cpu_s, plain_bytes))
    for part, factor in [("half", 2), ("quarter", 4)]:
        budget = paged_bytes // factor
        for how, store in [("pager, compressed", "compressed"), ("pager, folder", folder)]:
            if not is_asked(how):
                continue
            *measured, counts = paged(arguments, command, budget, store, folder)
            moved = (counts["fetched_units"] + counts["written_units"]) * 4096 if counts else ""
            yield row(part, how, measured, moved)
        for swap in [Zram(), SwapFile(folder)]:
            if not is_asked(swap.name):
                continue
            *measured, stored = swapped(swap, command, plain_bytes - paged_bytes + budget, arguments.limit)
            measured[3] += stored
            yield row(part, swap.name, measured)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pagemill", default="target/release/pagemill")
    parser.add_argument("--python", default="target/venv/python/bin/python", help="a Python that has NumPy")
    parser.add_argument("--folder", default="/var/tmp", help="where the pager's folder and the swap file are")
    parser.add_argument("--limit", type=float, default=150, help="most seconds of a run")
    parser.add_argument("--only", default="", help="programs by name, with commas between")
    parser.add_argument("--how", default="", help="the beginning of a value of the column `how`: these rows only")
    arguments = parser.parse_args()
    arguments.pagemill = os.path.abspath(arguments.pagemill)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    writer = None
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        for name, command in programs(arguments.python, folder).items():
            if arguments.only and name not in arguments.only.split(","):
                continue
            for row in rows(arguments, folder, name, command):
                if writer is None:
                    writer = csv.DictWriter(sys.stdout, row, lineterminator="\n")
                    writer.writeheader()
                writer.writerow(row)
                sys.stdout.flush()


if __name__ == "__main__":
    main()
