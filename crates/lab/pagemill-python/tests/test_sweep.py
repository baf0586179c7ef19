"""Sweeps: complete, exact, each point once, whichever process dies."""

import concurrent.futures
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time

import pagemill
import pytest

ELEMENTS = list(range(64, 64 + 250))
GRID = {
    "workload.elements": ELEMENTS,
    "transfer.mode": ["whole-page", "multi-range"],
    "machine.link.bandwidth": ["16 GB/s", "32 GB/s"],
    "transfer.unit": ["128 B", "256 B"],
}


def parts(folder):
    return sorted(path.name for path in (folder / "parts").iterdir())


def test_a_sweep_gives_what_a_run_gives(small, tmp_path):
    overrides = {"workload.elements": [64, 128, 256], "transfer.mode": ["whole-page", "multi-range"]}
    result = pagemill.sweep(small, overrides, out=tmp_path / "s", workers=2)
    assert result.to_json() == pagemill.run(small, overrides).to_json()
    assert (tmp_path / "s/results/results.json").read_text() == result.to_json()
    assert len(parts(tmp_path / "s")) == 6
    table = pytest.importorskip("pyarrow.parquet").read_table(tmp_path / "s/results/results.parquet")
    assert table.to_pylist() == result.rows


class Counting(concurrent.futures.ThreadPoolExecutor):
    """Counts points; stops with an error after some."""

    def __init__(self, limit=None):
        super().__init__(1)
        self.points = []
        self.limit = limit

    def submit(self, function, shipped, task):
        self.points += task
        if self.limit is not None and len(self.points) > self.limit:
            raise RuntimeError("the power is out")
        return super().submit(function, shipped, task)


def test_a_killed_sweep_goes_on_where_it_stopped(small, tmp_path):
    overrides = {"workload.elements": list(range(64, 104))}
    with pytest.raises(RuntimeError, match="power"), Counting(20) as executor:
        pagemill.sweep(small, overrides, out=tmp_path, executor=executor, workers=1, points_per_task=1)
    kept = len(parts(tmp_path))
    assert 0 < kept < 40
    with Counting() as executor:
        result = pagemill.sweep(small, overrides, out=tmp_path, executor=executor, points_per_task=3)
    assert len(executor.points) == 40 - kept
    assert result.to_json() == pagemill.run(small, overrides).to_json()
    with Counting() as executor:
        again = pagemill.sweep(small, overrides, out=tmp_path, executor=executor)
    assert executor.points == [] and again.to_json() == result.to_json()


def test_points_are_known_by_what_they_are(small, tmp_path):
    pagemill.sweep(small, {"workload.elements": [64, 128]}, out=tmp_path, workers=1)
    with Counting() as executor:
        pagemill.sweep(small, {"workload.elements": [128, 64, 256], "title": "another"}, out=tmp_path, executor=executor)
        assert executor.points == [2]
        pagemill.sweep(small, {"workload.elements": [64, 128], "machine.link.latency": "1 us"}, out=tmp_path, executor=executor)
        assert executor.points == [2, 0, 1]


def test_a_damaged_part_is_run_again(small, tmp_path):
    overrides = {"workload.elements": [64, 128]}
    result = pagemill.sweep(small, overrides, out=tmp_path, workers=1)
    part = tmp_path / "parts" / parts(tmp_path)[0]
    part.write_bytes(part.read_bytes()[:-7])
    with Counting() as executor:
        assert pagemill.sweep(small, overrides, out=tmp_path, executor=executor).to_json() == result.to_json()
    assert len(executor.points) == 1


def test_workers_of_another_build_are_refused(small):
    shipped = pagemill.Scenario(small)._loaded.shipped()
    assert len(pagemill._sweep._run_task(pagemill._native.BUILD, shipped, [0])) == 1
    refused = pagemill._sweep._run_task("0123456789abcdef", shipped, [0])
    with pytest.raises(pagemill.RunError, match="another build .*install the same wheel"):
        raise refused


class Losing(Counting):
    """Loses results on their way: the errors are the executor's own, of any class."""

    def __init__(self, losses):
        super().__init__()
        self.losses = losses

    def submit(self, function, shipped, task):
        future = super().submit(function, shipped, task)
        if self.losses == 0:
            return future
        self.losses -= 1
        concurrent.futures.wait([future])
        lost = concurrent.futures.Future()
        lost.set_exception(ValueError("too many values to unpack"))
        return lost


def test_what_an_executor_raises_itself_loses_a_task_and_no_sweep(small, tmp_path):
    overrides = {"workload.elements": list(range(64, 104))}
    with Losing(3) as executor:
        result = pagemill.sweep(small, overrides, out=tmp_path / "some", executor=executor, workers=1, points_per_task=4)
    assert result.to_json() == pagemill.run(small, overrides).to_json()
    assert len(executor.points) == 40 + 3 * 4
    with Losing(10**6) as executor, pytest.raises(pagemill.RunError, match="lost 5 times, 40 points.*too many values"):
        pagemill.sweep(small, overrides, out=tmp_path / "all", executor=executor, workers=1, points_per_task=4)


def test_a_failing_point_is_named_and_the_others_are_kept(small, tmp_path):
    overrides = {"limits.thread_instructions": [10**9, 1000]}
    with pytest.raises(pagemill.RunError, match="point 2 .*1000.*of small"):
        pagemill.sweep(small, overrides, out=tmp_path, workers=1, points_per_task=1)
    assert len(parts(tmp_path)) == 1
    with pytest.raises(pagemill.InputError, match="pagemill run"):
        pagemill.sweep({"kind": "cuda", "machine": "gtx480", "program.command": ["x"], "transfer.mode": "multi-range"}, out=tmp_path)


def test_workers_that_die_lose_their_points_only(small, tmp_path):
    """A worker process is killed twice while the sweep runs."""
    overrides = {"workload.elements": list(range(512, 812))}
    killed = []

    def kill(done, points):
        if done >= 100 * (len(killed) + 1) and len(killed) < 2:
            for child in multiprocessing.active_children()[:1]:
                child.kill()
                killed.append(child.pid)

    result = pagemill.sweep(small, overrides, out=tmp_path, workers=2, points_per_task=4, progress=kill)
    assert len(killed) == 2
    assert result.to_json() == pagemill.run(small, overrides).to_json()
    assert len(parts(tmp_path)) == 300


def test_a_plain_script_sweeps_once(small, tmp_path):
    """Workers do not run the script: it has no guard."""
    script = tmp_path / "script.py"
    script.write_text(
        f"import pagemill\nprint('begin')\n"
        f"print(len(pagemill.sweep({small!r}, {{'workload.elements': list(range(64, 84))}}, out={str(tmp_path / 'out')!r}, workers=2)))\n"
    )
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert ran.stdout == "begin\n20\n"


def test_the_end_of_workers_is_named(small, tmp_path, monkeypatch):
    """Each worker ends as it starts, with a message of its own."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "sitecustomize.py").write_text("import multiprocessing.spawn, os\nmultiprocessing.spawn.spawn_main = lambda *_, **__: os._exit(7)\n")
    with pytest.raises(pagemill.RunError, match="lost 5 times, 2 points are left: a worker ended with exit code 7, and says why above"):
        pagemill.sweep(small, {"workload.elements": [64, 65]}, out=tmp_path / "out", workers=1)


def test_kill_9_leaves_whole_points(small, tmp_path):
    program = f"import pagemill\npagemill.sweep({small!r}, {{'workload.elements': list(range(64, 464))}}, out={str(tmp_path)!r}, workers=1)"
    child = subprocess.Popen([sys.executable, "-c", program], start_new_session=True)
    deadline = time.monotonic() + 60
    while len(list((tmp_path / "parts").glob("*.parquet"))) < 20 and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    kept = len(list((tmp_path / "parts").glob("*.parquet")))
    assert kept >= 20
    with Counting() as executor:
        result = pagemill.sweep(small, {"workload.elements": list(range(64, 464))}, out=tmp_path, executor=executor)
    assert len(executor.points) == 400 - kept
    assert len(result) == 400


def test_the_command_goes_on_where_python_stopped(small, tmp_path, pagemill_command):
    scenario = tmp_path / "two.toml"
    scenario.write_text(
        'title = "two"\nkind = "gpu"\nmachine = "gtx480"\nworkload = { name = "vector-add" }\n'
        'transfer = { mode = "multi-range" }\nsweep = { "workload.elements" = [64, 128] }\n'
    )
    out = tmp_path / "out"
    pagemill.sweep(scenario, {"workload.elements": [64]}, out=out, workers=1)
    result = pagemill.sweep(scenario, out=out, workers=1)
    command = subprocess.run(
        [pagemill_command, "run", scenario, "--keep", out, "--format", "json"], capture_output=True, text=True, check=True
    )
    assert "2 of 2 points" in command.stderr
    assert command.stdout == result.to_json()


def test_two_thousand_points_on_dask_with_a_worker_killed(small, tmp_path):
    """A scheduler and two workers, each a process of its own, on the loopback interface."""
    from distributed import Client

    environment = {**os.environ, "DASK_DISTRIBUTED__WORKER__DAEMON": "False"}
    scheduler_file = tmp_path / "scheduler.json"

    def start(*arguments):
        return subprocess.Popen(
            [sys.executable, "-m", "distributed.cli." + arguments[0], *arguments[1:]],
            env=environment,
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    address = "tcp://127.0.0.1"
    processes = [start("dask_scheduler", "--host", address, "--port", "0", "--no-dashboard", "--scheduler-file", str(scheduler_file))]
    try:
        for _ in range(2):
            processes.append(
                start("dask_worker", "--scheduler-file", str(scheduler_file), "--host", "127.0.0.1", "--nthreads", "1", "--no-nanny", "--no-dashboard")
            )
        deadline = time.monotonic() + 60
        while not scheduler_file.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        with Client(scheduler_file=str(scheduler_file)) as client:
            client.wait_for_workers(2, timeout=60)
            victim = processes[1]

            def kill_midway(done, points):
                if done > points // 3 and victim.poll() is None:
                    victim.kill()

            out = tmp_path / "out"
            result = pagemill.sweep(small, GRID, out=out, executor=client.get_executor(), workers=2, progress=kill_midway)
        assert victim.poll() == -signal.SIGKILL
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert len(result) == 2000 == len(parts(out))
    keys = [(row["workload.elements"], row["mode"], row["machine.link.bandwidth_bytes_per_second"], row["transfer.unit_bytes"]) for row in result]
    assert len(set(keys)) == 2000
    # The same points on this machine's threads, without the store.
    assert result.to_json() == pagemill.run(small, GRID).to_json()
    assert json.loads((out / "results/results.json").read_text())["rows"] == result.rows
