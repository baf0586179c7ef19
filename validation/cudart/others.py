#!/usr/bin/env python3
"""Tries CUDA programs of public repositories under `pagemill cuda --functional`; writes one row for each.

usage: others.py --sources FOLDER [--build FOLDER] [--pagemill PATH] [--nvcc PATH] [--seconds N] [--out CSV] [NAME ...]

FOLDER has a checkout of each suite of others.toml, under the suite's name. A name is `suite` or `suite/program`.
"""

import argparse
import csv
import os
import pathlib
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).parent
# The machine has other work: how long a program may take for each second of CPU time that it may use.
SECONDS_PER_CPU_SECOND = 12
MADE_WITH = re.compile(r"-l(cublas|cusparse|cusolver|cufft|curand|cudnn|nccl|mpi|gsl|boost_\w+)|\b(mpicc|mpicxx)\b")
LIBRARIES = ["cublas", "cufft", "curand", "cusolver", "cusparse", "npp", "nvjpeg", "NVSCI", "LLVM"]
GRAPHICS = ["OpenGL", "GLUT", "EGL", "Vulkan", "X11", "FreeImage"]
PASSED = re.compile(r"\bpass|success|\bok\b|are identical|correct|test_?passed|fail[a-z]* count: 0|: 0$", re.I | re.M)
FAILED = re.compile(r"\bfail(ed|ure)?\b(?! count: 0)|mismatch|incorrect|cuda error|\berror at\b", re.I)


def programs(suite, root):
    """Yields a dictionary for each program of a suite: those listed, and those that CMakeLists.txt files name."""
    listed = {entry["name"]: entry for entry in suite.get("program", [])}
    if "make" in suite:
        for makefile in sorted(root.glob(suite["make"] + "/Makefile")):
            name = makefile.parent.name.removesuffix(suite.get("ending", ""))
            entry = {"name": name, "folder": str(makefile.parent.relative_to(root)), "make": suite.get("variables", [])}
            library = sorted({a or b for a, b in MADE_WITH.findall(makefile.read_text(errors="replace"))})
            if library:
                entry["skip"] = "needs " + ", ".join(library)
            entry.update(listed.pop(name, {}))
            yield entry
    if "cmake" in suite:
        for lists in sorted(root.glob(suite["cmake"] + "/CMakeLists.txt")):
            text = lists.read_text()
            found = re.search(r"^\s*add_executable\(\s*(\S+)([^)]*)\)", text, re.M)
            if not found:
                continue
            name = lists.parent.name
            sources = [s for s in found[2].split() if s.endswith((".cu", ".cpp", ".c"))]
            entry = {"name": name, "folder": str(lists.parent.relative_to(root)), "sources": sources}
            needs = [w for w in re.findall(r"CUDA::(\w+)|find_package\((\w+)", text)]
            words = {a or b for a, b in needs}
            if any(w.startswith(g) for w in words for g in GRAPHICS) or "D3D" in name:
                entry["skip"] = "graphics"
            library = sorted({name for word in words for name in LIBRARIES if word.startswith(name)})
            if library and "skip" not in entry:
                entry["skip"] = "needs " + ", ".join(library)
            if "SEPARABLE_COMPILATION ON" in text and "cudadevrt" in text:
                entry["flags"] = ["-rdc=true", "-lcudadevrt"]
            entry["flags"] = entry.get("flags", []) + (["-lcuda"] if "CUDA::cuda_driver" in text else [])
            entry["flags"] += ["-Xcompiler", "-fopenmp"] if "OpenMP" in words else []
            entry["flags"] += ["-lnvrtc"] if "CUDA::nvrtc" in text else []
            kernel = re.search(r'CUDA_FATBIN_FILE "\$\{CMAKE_CURRENT_BINARY_DIR\}/([^"]+)"', text)
            source = re.search(r'CUDA_KERNEL_SOURCE "\$\{CMAKE_CURRENT_SOURCE_DIR\}/([^"]+)"', text)
            if kernel and source:
                entry["fatbin"] = [kernel[1], source[1]]
            kernel = re.search(r'CUDA_PTX_FILE "\$\{CMAKE_CURRENT_BINARY_DIR\}/([^"]+)"', text)
            if kernel and source:
                entry["ptx"] = [kernel[1], source[1]]
            entry.update(listed.pop(name, {}))
            yield entry
    yield from (complete(suite, entry, root) for entry in listed.values())


def complete(suite, entry, root):
    """Fills in what an entry of the list leaves out: its folder, and all CUDA sources in it."""
    entry.setdefault("folder", suite.get("folder", "$NAME").replace("$NAME", entry["name"]))
    found = sorted(path.name for path in (root / entry["folder"]).glob("*.cu"))
    entry.setdefault("sources", found)
    return entry


def link_surroundings(root, build, folder):
    """Links what lies beside `folder` and its parents, since sources name it by relative paths."""
    for parent in reversed(folder.parents):
        # An earlier program may have linked it.
        if parent.parts and (build / parent).is_symlink():
            (build / parent).unlink()
        (build / parent).mkdir(parents=True, exist_ok=True)
        kept = folder.relative_to(parent).parts[0]
        for path in (root / parent).iterdir():
            link = build / parent / path.name
            if path.name != kept and path.name != ".git" and not link.exists():
                link.symlink_to(path.resolve())


def compile_program(suite, entry, root, build, options):
    """Compiles in a copy of the program's folder; gives the error's text, or none."""
    folder = root / entry["folder"]
    work = build / entry["folder"]
    link_surroundings(root, build, pathlib.Path(entry["folder"]))
    if work.is_symlink():
        work.unlink()
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(folder, work, symlinks=True)
    for file, pattern, to in suite.get("edit", []) + entry.get("edit", []):
        if not (work / file).is_file():
            continue
        path = work / file
        text = path.read_text(errors="surrogateescape")
        path.write_text(re.sub(pattern, to, text), errors="surrogateescape")
    flags = [f.replace("$ROOT", str(root)) for f in suite.get("flags", []) + entry.get("flags", [])]
    for kind in ("fatbin", "ptx"):
        if kind in entry:
            name, source = entry[kind]
            done = subprocess.run([options.nvcc, *flags, "-" + kind, "-o", name, source], cwd=work, capture_output=True, text=True)
            if done.returncode:
                return done.stderr
    if "before" in entry:
        subprocess.run(entry["before"], cwd=work, shell=True, check=True)
    if "make" in entry:
        return make_program(entry, work, flags, options)
    command = [options.nvcc, "-w", "-o", "program", *entry["sources"], *options.flags, *flags]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True)
    return done.stdout + done.stderr if done.returncode else None


def make_program(entry, work, flags, options):
    """Makes what the first rule of a Makefile says, as `program`; arguments are those of its rule `run`, unless the entry has some."""
    folder = str(pathlib.Path(options.nvcc).parent)
    places = os.environ["PATH"] if folder == "." else f"{folder}:{os.environ['PATH']}"
    command = ["make", f"EXTRA_CFLAGS={shlex.join(['-w', *options.flags, *flags])}", *entry["make"]]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, env={**os.environ, "PATH": places})
    if done.returncode:
        return done.stdout + done.stderr
    run = first_run(entry, work)
    if run is None:
        return "error: no rule `run` that starts a program"
    if run[0] != "./program":
        (work / "program").unlink(missing_ok=True)
        (work / "program").symlink_to(run[0])
    return None


def first_run(entry, work):
    """The first command of a Makefile's rule `run` that starts a program of the folder."""
    command = ["make", "-n", *entry["make"], "run"]
    shown = subprocess.run(command, cwd=work, capture_output=True, text=True).stdout
    for line in shown.replace("\\\n", " ").splitlines():
        for part in re.split(r"[;&|>]", line):
            words = part.split()
            if words and words[0].startswith("./") and not words[0].endswith((".sh", ".py")):
                return words
    return None


def driver_stub(build):
    """Makes a libcuda.so to link with, which has the driver's names and nothing behind them."""
    names = [line.split()[0] for line in open(HERE / "../../crates/cuda/pagemill-cudart/driver.txt") if not line.startswith("#")]
    text = "".join(f"void {name}(void) {{}}\n" for name in sorted(set(names)))
    folder = build / "lib"
    folder.mkdir(parents=True, exist_ok=True)
    command = ["gcc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", folder / "libcuda.so", "-x", "c", "-"]
    subprocess.run(command, input=text, text=True, check=True)
    return folder


def limit(seconds):
    def apply():
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 2))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    return apply


def shrunk(args, level):
    """Arguments for less work: at level 1 the last number, mostly one of repetitions, is 2; then large numbers are divided."""
    args = list(args)
    numbers = [i for i, word in enumerate(args) if re.fullmatch(r"\d+", word)]
    if level and numbers and int(args[numbers[-1]]) >= 10:
        args[numbers[-1]] = "2"
    for i in numbers:
        if level > 1 and int(args[i]) >= 512:
            args[i] = str(max(int(args[i]) >> (4 * (level - 1)), 256))
    return args


def arguments(entry, work):
    """Those of the list, or of the Makefile's rule `run`."""
    if "args" in entry or "make" not in entry:
        return entry.get("args", [])
    return (first_run(entry, work) or [""])[1:]


def run_smaller(entry, work, options):
    """Runs a program with the arguments of its Makefile, with fewer repetitions, and with less data until it ends in time."""
    given = arguments(entry, work)
    if "args" in entry or "make" not in entry:
        return run(entry, work, options, given)
    tried = []
    for level in (1, 2, 3):
        args = shrunk(given, level)
        if args in tried:
            continue
        tried.append(args)
        found = run(entry, work, options, args)
        if not found[2].startswith("more than"):
            break
    # Fewer repetitions may be what the program cannot do.
    if found[1] != "yes" and not found[2].startswith("more than") and args != given and found[0] == "no":
        tried.append(given)
        found = run(entry, work, options, given)
    if tried[-1] != given:
        found = (*found[:2], "; ".join(filter(None, [found[2], "with the arguments " + " ".join(tried[-1])])))
    return found


def run(entry, work, options, args):
    """Runs a program; gives (ended, right, reason)."""
    command = [options.pagemill, "cuda", "--functional", *options.cuda, *entry.get("pagemill", []), "--", "./program", *args]
    text = entry.get("input")
    try:
        done = subprocess.run(
            command, cwd=work, capture_output=True, input=text.encode() if text else b"", timeout=SECONDS_PER_CPU_SECOND * options.seconds,
            preexec_fn=limit(options.seconds),
        )
    except subprocess.TimeoutExpired:
        return "no", "", f"more than {SECONDS_PER_CPU_SECOND * options.seconds} s"
    out, err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    (work / "stdout.txt").write_text(out)
    (work / "stderr.txt").write_text(err)
    notes = [line for line in err.splitlines() if line.startswith("pagemill")]
    reason = notes[0] if notes else ""
    if done.returncode in (128 + 24, 128 + 9, -24, -9):
        return "no", "", f"more than {options.seconds} s of CPU"
    # pagemill's own table has a column of that name.
    lines = [line for line in (out + err).splitlines() if FAILED.search(line) and "failed launches" not in line]
    entry.setdefault("right", options.right)
    if entry["right"]:
        right = re.search(entry["right"], out + err, re.M) is not None
        return ("yes" if done.returncode == 0 or right else "no"), "yes" if right else "no", reason or (lines or [f"exit code {done.returncode}"])[0] if not right else ""
    if done.returncode != entry.get("code", 0):
        return "no", "", reason or (lines or (out + err).splitlines()[-1:] or [""])[0] + f" (exit code {done.returncode})"
    if lines:
        return "yes", "no", reason or lines[0]
    return "yes", "yes" if PASSED.search(out + err) else "no check", reason


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sources", required=True, type=pathlib.Path)
    parser.add_argument("--build", default=pathlib.Path(tempfile.gettempdir()) / "others", type=pathlib.Path)
    parser.add_argument("--pagemill", default="pagemill")
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--seconds", default=40, type=int)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--flags", default=[], type=str.split, help="more flags of nvcc")
    parser.add_argument("--cuda", default=[], type=str.split, help="more options of pagemill cuda")
    parser.add_argument("--keep", action="store_true", help="do not compile what is compiled")
    parser.add_argument("--compile-only", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    rows = []
    options.flags.append(f"-L{driver_stub(options.build)}")
    with open(HERE / "others.toml", "rb") as file:
        suites = tomllib.load(file)["suite"]
    for suite in suites:
        options.right = suite.get("right")
        root = options.sources.resolve() / suite["name"]
        build = options.build / suite["name"]
        for entry in programs(suite, root):
            name = f"{suite['name']}/{entry['name']}"
            if options.names and not any(name == n or suite["name"] == n for n in options.names):
                continue
            row = [suite["name"], entry["name"], "", "", "", entry.get("skip", "")]
            work = build / entry["folder"]
            if not row[5]:
                kept = options.keep and (work / "program").is_file()
                error = None if kept else compile_program(suite, entry, root, build, options)
                row[2] = "no" if error else "yes"
                if error:
                    row[5] = next((line.strip() for line in error.splitlines() if "error" in line.lower()), error.strip()[:200])
                elif not options.compile_only:
                    row[3:] = run_smaller(entry, work, options)
                if error is None and entry.get("note"):
                    row[5] = "; ".join(filter(None, [row[5], entry["note"]]))
            row[5] = row[5].strip()[:240]
            print(",".join(row), file=sys.stderr, flush=True)
            rows.append(row)
    if options.out:
        with open(options.out, "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["suite", "program", "compiles", "runs", "right", "reason"])
            writer.writerows(rows)


if __name__ == "__main__":
    main()
