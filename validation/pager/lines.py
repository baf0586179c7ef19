"""Bytes that random SETs of 100 bytes in redis-server send to a page server: changed lines of 64 bytes, beside whole units.

    python3 validation/pager/lines.py --pagemill target/release/pagemill > validation/pager/lines.csv

Redis runs with a quarter of its footprint in frames, once with all its keys set and read, and once with `--sets` SETs of random keys between: the row
has the difference of the two runs. Values that are read at the end equal those that were set, or the script ends with exit code 1.
"""

import argparse
import csv
import hashlib
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time

from programs import Redis, run


def expected(sets):
    """What reading all keys gives, in plain Python."""
    versions, chance = [0] * Redis.KEYS, 1
    for _ in range(sets):
        chance = (chance * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        versions[(chance >> 33) % Redis.KEYS] = 1
    digest = hashlib.sha256()
    for key, version in enumerate(versions):
        digest.update(hashlib.sha256(b"%d %d" % (key, version)).hexdigest().encode()[:50] * 2 + b"\r\n")
    return digest.hexdigest().encode()


def paged(arguments, folder, address, budget, sets):
    redis, out = Redis(folder, sets), os.path.join(folder, "out")
    options = ["--memory", f"{budget}B", "--to", address, "--token-file", os.path.join(folder, "token")]
    options += ["--read-ahead", "none", "--out", out]
    digest, _ = run([arguments.pagemill, "pager", "run", *options, "--", *redis.command], redis)
    if digest != expected(sets):
        sys.exit(f"{sets} SETs: other values than were set")
    with open(os.path.join(out, "results.json"), encoding="utf-8") as file:
        return json.load(file)["rows"][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pagemill", default="target/release/pagemill")
    parser.add_argument("--sets", type=int, default=20000)
    arguments = parser.parse_args()
    arguments.pagemill = os.path.abspath(arguments.pagemill)
    with tempfile.TemporaryDirectory() as folder:
        token, address = os.path.join(folder, "token"), f"unix:{folder}/pages.sock"
        with open(os.open(token, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write(secrets.token_hex(32))
        serve = [arguments.pagemill, "pager", "serve", "--listen", address, "--token-file", token, "--quota", "8GiB"]
        server = subprocess.Popen(serve, stdout=subprocess.DEVNULL)
        try:
            while not os.path.exists(f"{folder}/pages.sock"):
                time.sleep(0.05)
            footprint = paged(arguments, folder, address, 8 << 30, 0)["resident_units_max"] * 4096
            before, after = (paged(arguments, folder, address, footprint // 4, sets) for sets in (0, arguments.sets))
        finally:
            server.terminate()
            server.wait(30)
    names = ["read_faults", "write_faults", "fetched_units", "written_units", "written_bytes", "sent_bytes"]
    row = {"sets": arguments.sets, "value_bytes": 100 * arguments.sets, "footprint_bytes": footprint, "memory_bytes": footprint // 4}
    row |= {name: after[name] - before[name] for name in names}
    row["whole_over_sent"] = f"{row['written_bytes'] / row['sent_bytes']:.1f}"
    writer = csv.DictWriter(sys.stdout, row, lineterminator="\n")
    writer.writeheader()
    writer.writerow(row)


if __name__ == "__main__":
    main()
