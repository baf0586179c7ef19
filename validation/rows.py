"""Makes the rows kept in this folder again, and compares or replaces them.

    python3 validation/rows.py [--write] [--under SECONDS] [--command PAGEMILL] [NAME ...]

`rows.toml` says how each file is made. Without names, all that cost less than SECONDS (60) of CPU time. A name is how a file begins; with `$` at its end it is the
whole name.
Ends with 1 if rows or claims differ, with 2 if a run fails.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
LIMIT_S = 3600


def chosen(names: list[str], under_s: float) -> list[dict]:
    """The entries to make."""
    entries = tomllib.loads((HERE / "rows.toml").read_text())["rows"]
    if not names:
        return [entry for entry in entries if entry["cpu_s"] < under_s]
    return [entry for entry in entries if any(f"{entry['file']}$".startswith(name) for name in names)]


def make(command: str, entry: dict) -> dict[str, str]:
    """The texts of the files of `entry`, by their ending."""
    with tempfile.TemporaryDirectory() as folder:
        call = [command, "run", entry["scenario"], "--out", folder]
        for setting in entry.get("set", []):
            call += ["--set", setting]
        run = subprocess.run(call, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if run.returncode != 0:
            print(f"{entry['file']}: {' '.join(call)} ended with {run.returncode}: {run.stderr[-2000:]}", file=sys.stderr)
            sys.exit(2)
        texts = {".csv": (Path(folder) / "results.csv").read_text()}
        claims = json.loads((Path(folder) / "results.json").read_text())["summary"].get("claims")
    if claims and entry.get("claims", True):
        texts[".claims.json"] = json.dumps(claims, indent=1, ensure_ascii=False) + "\n"
    return texts


def differences(path: Path, text: str) -> str:
    """In how many lines `text` differs from what `path` has, with the first of them; empty if in none."""
    kept = path.read_text().splitlines() if path.exists() else []
    made = text.splitlines()
    differing = sum(a != b for a, b in zip(kept, made)) + abs(len(kept) - len(made))
    if not differing:
        return ""
    at = next((index for index, (a, b) in enumerate(zip(kept, made)) if a != b), min(len(kept), len(made)))
    was, now = ((lines[at] if at < len(lines) else "no line") for lines in (kept, made))
    fields = [f"{a} is {b} now" for a, b in zip(was.split(","), now.split(",")) if a != b] or [f"{was} is {now} now"]
    return f"{differing} of {len(made)} lines differ, line {at + 1} first: {'; '.join(fields[:4])}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="replace the files that differ")
    parser.add_argument("--under", type=float, default=60, metavar="SECONDS", help="only what costs less CPU time")
    parser.add_argument("--command", default=str(HERE.parent / "target/release/pagemill"), metavar="PAGEMILL")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    differ = 0
    entries = chosen(arguments.names, arguments.under)
    for entry in entries:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        texts = make(arguments.command, entry)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        found = []
        for ending, text in texts.items():
            path = HERE / (entry["file"] + ending)
            if what := differences(path, text):
                found.append(f"{ending}: {what}")
                if arguments.write:
                    path.write_text(text)
        differ += bool(found)
        print(f"{entry['file']}: {'; '.join(found) or 'the same'} ({spent_s:.1f} s)", flush=True)
    print(f"{len(entries)} made, {differ} differ")
    if differ and not arguments.write:
        print(
            "if the new figures are right: python3 validation/rows.py --write "
            + " ".join(f"'{entry['file']}$'" for entry in entries)
        )
    return int(differ > 0 and not arguments.write)


if __name__ == "__main__":
    sys.exit(main())
