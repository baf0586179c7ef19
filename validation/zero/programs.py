"""Real programs on the kernel's memory and on the pool's: start, first touch, and the CPU time of all.

    python3 validation/zero/programs.py > validation/zero/programs.csv

As root, on a computer that does nothing else, with so much free memory as four times `--mib`. Each program runs with four kinds of memory: usual
pages, transparent huge pages (`always`), huge pages of the kernel's stock, and pages of the pool. The programs' own options ask for
them; NumPy and redis, which have none, get huge pages by the preload library.

* `start_ms`: from the start of the process to its first answer, with little memory.
* `touch_ms`: what the first touch of `--mib` adds. For java (heap), qemu (guest) and numpy (array) it is the difference to the run with
  little memory; for postgresql the time of `pg_prewarm` into fresh buffers, for redis that of `debug populate`: both fill it, too.
* `program_cpu_ms`: of the program and its children, the kernel's on their behalf included.
* `pool_cpu_ms`: of the pool's daemon until all its pages are clean again. `all_cpu_ms` is the sum.

Medians of `--runs`.
"""

import argparse
import csv
import os
import pwd
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

POSTGRESQL = "/usr/lib/postgresql/15/bin"
THP = "/sys/kernel/mm/transparent_hugepage/enabled"
STOCK = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
KINDS = ["usual", "transparent", "stock", "pool"]
LITTLE_MIB = 32
KEY_BYTES = 4096


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def read(path):
    with open(path, encoding="ascii") as file:
        return file.read()


def finished(command, environment, text=""):
    """How long a program takes from start to end, in seconds."""
    start = time.monotonic()
    # Not the argument `timeout`, which looks for the end every 50 ms.
    subprocess.run(["timeout", "120", *command], env=environment, input=text, text=True, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - start


def by_size(command, environment, mib, text=""):
    start = finished(command(LITTLE_MIB), environment, text)
    return start, finished(command(mib), environment, text) - start


def java(kind, mib, environment, _folder):
    option = {"transparent": ["-XX:+UseTransparentHugePages"], "usual": []}.get(kind, ["-XX:+UseLargePages"])
    return by_size(lambda size: ["java", "-XX:+AlwaysPreTouch", f"-Xms{size}m", f"-Xmx{size}m", *option, "-version"],
                   environment, mib)


def qemu(kind, mib, environment, _folder):
    backend = "memory-backend-memfd,hugetlb=on" if kind == "stock" else "memory-backend-ram"
    return by_size(lambda size: ["qemu-system-x86_64", "-accel", "tcg", "-nodefaults", "-display", "none", "-S", "-monitor", "stdio",
                                 "-m", f"{size}M", "-machine", "pc,memory-backend=ram",
                                 "-object", f"{backend},id=ram,size={size}M,prealloc=on"], environment, mib, "quit\n")


def numpy(_kind, mib, environment, _folder):
    touch = "import numpy, sys; numpy.empty(int(sys.argv[1]) << 20, numpy.uint8)[::4096] = 1"
    return by_size(lambda size: ["/usr/bin/python3", "-c", touch, str(size)], environment, mib)


def until(answers, process):
    while not answers():
        if process.poll() is not None:
            sys.exit(f"the server ended with {process.returncode}")
        time.sleep(0.002)


def served(command, environment, user, answers, fill, end):
    """A server: the time until it answers, and that to fill its memory."""
    start = time.monotonic()
    process = subprocess.Popen(command, env=environment, user=user, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(answers, process)
        ready = time.monotonic()
        fill()
        filled = time.monotonic()
        end()
        process.wait(60)
    finally:
        process.kill()
    return ready - start, filled - ready


def quietly(command, user=None):
    return subprocess.run(command, user=user, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


def postgresql(kind, mib, environment, folder):
    data = os.path.join(folder, "data")
    user = "postgres"
    ask = ["psql", "-h", folder, "-U", user, "-Atc"]

    def start(options, environment, fill):
        command = [f"{POSTGRESQL}/postgres", "-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off", *options]
        return served(command, environment, user, lambda: quietly([*ask, "select 1"]), fill,
                      lambda: quietly([f"{POSTGRESQL}/pg_ctl", "-D", data, "-m", "fast", "stop"], user))

    if not os.path.exists(data):
        os.chmod(folder, 0o777)
        quietly([f"{POSTGRESQL}/initdb", "-D", data, "-U", user, "--no-sync"], user)
        make = f"create extension pg_prewarm; create unlogged table t as select repeat('x', 2000) from generate_series(1, {mib // 2 * 512})"
        start([], os.environ, lambda: [quietly([*ask, part]) for part in make.split("; ")])
    huge = "on" if kind in ("stock", "pool") else "off"
    return start(["-c", f"shared_buffers={mib * 3 // 4}MB", "-c", f"huge_pages={huge}"], environment,
                 lambda: subprocess.run([*ask, "select pg_prewarm('t')"], check=True, stdout=subprocess.DEVNULL))


def redis(_kind, mib, environment, folder):
    socket = os.path.join(folder, "redis")
    ask = ["redis-cli", "-s", socket]
    command = ["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no",
               "--enable-debug-command", "yes"]
    return served(command, environment, None, lambda: os.path.exists(socket) and quietly([*ask, "ping"]),
                  lambda: subprocess.run([*ask, "debug", "populate", str((mib << 19) // KEY_BYTES), "key", str(KEY_BYTES)], check=True,
                                         stdout=subprocess.DEVNULL),
                  lambda: quietly([*ask, "shutdown", "nosave"]))


PROGRAMS = [java, qemu, numpy, postgresql, redis]


class Pool:
    """The daemon, with all its pages clean."""

    def __init__(self, pagemill, pages, folder):
        self.pagemill, self.pages = pagemill, pages
        self.socket = os.path.join(folder, "zero.sock")
        self.process = subprocess.Popen([pagemill, "zero", "serve", "--pages", str(pages), "--quota", str(pages), "--reserve",
                                         "--socket", self.socket], stdout=subprocess.DEVNULL)

    def until_clean(self):
        environment = {**os.environ, "PAGEMILL_ZERO_SOCKET": self.socket}
        for _ in range(6000):
            said = subprocess.run([self.pagemill, "zero", "status", "--format", "prometheus"], env=environment, capture_output=True,
                                  text=True, check=False).stdout
            if f'state="clean"}} {self.pages}\n' in said:
                return
            time.sleep(0.02)
        sys.exit("the pool is not clean after two minutes")

    def cpu_ms(self):
        fields = read(f"/proc/{self.process.pid}/stat").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")

    def end(self):
        self.process.terminate()
        self.process.wait(60)


def measure(program, kind, arguments, library, folder, pool):
    environment = dict(os.environ)
    if pool:
        pool.until_clean()
        environment |= {"LD_PRELOAD": library, "PAGEMILL_ZERO_SOCKET": pool.socket, "PAGEMILL_ZERO_MMAP": "1"}
    elif kind == "stock" and program in (numpy, redis):
        environment |= {"LD_PRELOAD": library, "PAGEMILL_ZERO_SOURCE": "hugetlb", "PAGEMILL_ZERO_MMAP": "1"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    pool_ms = pool.cpu_ms() if pool else 0
    start, touch = program(kind, arguments.mib, environment, folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    program_ms = 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    if pool:
        pool.until_clean()
        pool_ms = pool.cpu_ms() - pool_ms
    return 1000 * start, 1000 * touch, program_ms, pool_ms, program_ms + pool_ms


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pagemill", default="target/release/pagemill")
    parser.add_argument("--mib", type=int, default=2048)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", help="names of programs, with commas between them")
    arguments = parser.parse_args()
    pagemill = os.path.abspath(arguments.pagemill)
    out = csv.writer(sys.stdout)
    out.writerow(["program", "memory", "start_ms", "touch_ms", "program_cpu_ms", "pool_cpu_ms", "all_cpu_ms"])
    usual = read(THP).split("[")[1].split("]")[0]
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        library = shutil.copy(os.path.join(os.path.dirname(pagemill), "libpagemill_zero_preload.so"), folder)
        os.chmod(library, 0o755)
        for program in PROGRAMS:
            if arguments.only and program.__name__ not in arguments.only.split(","):
                continue
            own = os.path.join(folder, program.__name__)
            os.mkdir(own)
            if program is postgresql:
                os.chown(own, pwd.getpwnam("postgres").pw_uid, -1)
            for kind in KINDS:
                # Transparent huge pages as the program asks for them, or none.
                write(THP, {"transparent": "always"}.get(kind, "never"))
                pages = arguments.mib // 2 * 5 // 4
                pool = Pool(pagemill, pages, folder) if kind == "pool" else None
                stock = int(read(STOCK))
                if kind == "stock":
                    write(STOCK, str(stock + pages))
                try:
                    runs = [measure(program, kind, arguments, library, own, pool) for _ in range(arguments.runs)]
                finally:
                    if pool:
                        pool.end()
                    write(STOCK, str(stock))
                    write(THP, usual)
                values = [statistics.median(column) for column in zip(*runs)]
                out.writerow([program.__name__, kind, *[f"{value:.0f}" for value in values]])
                sys.stdout.flush()


if __name__ == "__main__":
    main()
