"""Scenarios from Python: the same results as the command, and errors that say what to do."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pagemill
import pytest


def test_results_are_those_of_the_command(root, pagemill_command):
    result = pagemill.run("smoke", {"transfer.mode": ["whole-page", "multi-range"]}, jobs=1)
    command = subprocess.run(
        [pagemill_command, "run", "smoke", "--set", 'transfer.mode=["whole-page", "multi-range"]', "--format", "json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.to_json() == command.stdout


def test_jobs_do_not_change_results():
    assert pagemill.run("smoke", jobs=1).to_json() == pagemill.run("smoke", jobs=7).to_json()


def test_a_dict_is_a_scenario(small):
    result = pagemill.run(small, {"workload.elements": [1024, 2048]}, transfer__mode=["whole-page", "multi-range"])
    assert result["workload.elements"] == [1024, 1024, 2048, 2048]
    assert result["mode"] == ["whole-page", "multi-range"] * 2
    assert all(row["migrated_bytes"] >= 8 * row["workload.elements"] for row in result)
    assert result.name == "small"


def test_concatenated_scenarios_are_drawn_by_program():
    parts = [pagemill.run("smoke", {"transfer.mode": mode}) for mode in ("programmer-copy", "whole-page", "multi-range")]
    both = pagemill.concat(parts)
    axes = both.plot("time").axes
    assert len(axes) == 1
    assert [label.get_text() for label in axes[0].get_xticklabels()] == ["vector-add", "bfs", "laplace3d"]
    assert [text.get_text() for text in axes[0].get_legend().get_texts()] == ["programmer-copy", "whole-page", "multi-range"]
    # Ratios are made of all rows, also where their base is of another part.
    assert all(ratio is not None for ratio in both["time_over_programmer_copy"])
    page = both.to_html()
    assert "No row has the values of this figure" not in page
    assert page.count("bfs, whole-page: ") >= 3


def test_figures_say_what_they_leave_out():
    plot = {"form": "bars", "x": "workload", "series": "mode", "y": "time_ns", "title": "Time", "panel_by": "size", "only": {},
            "x_title": "", "y_title": "", "normalize_to": None, "log": False}  # fmt: skip
    rows = [
        {"workload": "a", "mode": "m", "size": 1, "time_ns": 1.0},
        {"workload": "a", "mode": "m", "size": 1, "time_ns": 3.0},
        {"workload": "b", "mode": "m", "size": None, "time_ns": 2.0},
        {"workload": None, "mode": "m", "size": 1, "time_ns": 2.0},
    ]
    from pagemill._plot import draw

    figure = draw(plot, rows, {})
    assert [axes.get_title() for axes in figure.axes] == ["Time, size = 1", "Time, no size"]
    note = figure.get_supxlabel()
    assert "Left out: 1 of 4 rows, which have no workload." in note
    assert "the mean of up to 2 rows" in note


def test_a_machine_can_be_made_in_code(small):
    machine = pagemill.machine("gtx480")
    machine["name"] = "double"
    machine["link"]["bandwidth"] = {"value": "32 GB/s", "source": "estimate"}
    base = pagemill.run(small)
    double = pagemill.run({**small, "machine": machine})
    assert double["time_ns"][0] < base["time_ns"][0]
    same = pagemill.run(small, {"machine.link.bandwidth": "32 GB/s"})
    assert same["time_ns"] == double["time_ns"]


def test_every_built_in_scenario_is_a_dict_that_loads():
    for name in pagemill.scenarios():
        assert len(pagemill.Scenario(pagemill.scenario(name))) == len(pagemill.Scenario(name))


def test_errors_name_the_place(small):
    with pytest.raises(pagemill.InputError, match="whole-pages.*\n(.*\n)*.*whole-page"):
        pagemill.run(small, {"transfer.mode": "whole-pages"})
    with pytest.raises(pagemill.InputError, match="there is no scenario"):
        pagemill.run("no-such-scenario")
    with pytest.raises(TypeError, match="a scenario holds text"):
        pagemill.run({**small, "seed": object()})
    with pytest.raises(pagemill.RunError, match="thread instructions"):
        pagemill.run(small, {"limits.thread_instructions": 1000})


def test_results_become_tables(small):
    result = pagemill.run(small, {"workload.elements": [1024, 2048]})
    frame = result.to_pandas()
    assert list(frame.columns) == [column["name"] for column in result.columns]
    assert frame.attrs["units"]["time_ns"] == "ns"
    table = result.to_arrow()
    assert table.column_names == list(frame.columns)
    assert table.to_pylist() == result.rows
    assert table.field("time_ns").metadata[b"unit"] == b"ns"
    import pyarrow

    assert pyarrow.table(result).equals(table)
    assert json.loads(result.to_json())["rows"] == result.rows


def test_large_integers_stay_whole():
    seed = 2**63 - 1
    result = pagemill.run(
        "smoke", {"seed": seed, "workload": {"name": "vector-add", "elements": 64}}, transfer__mode="whole-page"
    )
    assert result.seed == seed and type(result.seed) is int


def test_plots_and_notebooks(small):
    result = pagemill.run(small, {"workload.elements": [1024, 2048], "transfer.mode": ["programmer-copy", "multi-range"]})
    for name in result.figures:
        figure = result.plot(name)
        assert figure.axes and any(axes.has_data() for axes in figure.axes)
    with pytest.raises(ValueError, match="no figure"):
        result.plot("nothing")
    page = result._repr_html_()
    assert "<table>" in page and "multi-range" in page
    assert "multi-range" in repr(result)


def test_every_declared_figure_can_be_drawn():
    for name in ("ppm-ranges", "ppm-tlb"):
        scenario = pagemill.scenario(name)
        assert scenario
    result = pagemill.run("pni-latency")
    for name in result.figures:
        assert result.plot(name).axes


def test_results_are_saved_like_the_command_does(small, tmp_path):
    result = pagemill.run(small)
    result.save(tmp_path / "out")
    assert (tmp_path / "out" / "results.json").read_text() == result.to_json()
    assert "<html" in (tmp_path / "out" / "report.html").read_text()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("")
    with pytest.raises(pagemill.RunError, match="thesis.tex"):
        result.save(tmp_path / "mine")


def test_page_maps_are_those_of_the_command(pagemill_command, tmp_path):
    command = [pagemill_command, "run", "smoke", "--out", tmp_path / "command"]
    subprocess.run(command, capture_output=True, check=True)
    result = pagemill.run("smoke", pages=True)
    result.save(tmp_path / "python")
    for name in ("pages.json", "report.html", "results.json", "results.csv"):
        assert (tmp_path / "python" / name).read_bytes() == (tmp_path / "command" / name).read_bytes(), name
    subprocess.run([pagemill_command, "report", "pages", tmp_path / "command"], capture_output=True, check=True)
    assert len(result.page_maps) == sum(mode in ("whole-page", "single-range", "multi-range") for mode in result["mode"])


def test_page_maps_can_be_chosen(small, tmp_path):
    result = pagemill.run(small, {"transfer.mode": ["whole-page", "multi-range"]}, pages=True)
    whole, multi = result.page_maps
    assert "whole-page" in whole and "multi-range" in multi
    assert result.pages().titles == [whole, multi]
    one = result.pages(multi)
    assert "multi-range" in one.to_html() and "whole-page" not in one.to_html()
    assert multi in repr(one)
    one.save(tmp_path / "map.html")
    assert (tmp_path / "map.html").read_text() == one.to_html()
    with pytest.raises(ValueError, match="no page map 'none': there are .*multi-range"):
        result.pages("none")
    with pytest.raises(ValueError, match="pages=True"):
        pagemill.run(small).pages()
    with pytest.raises(ValueError, match="pages=True"):
        pagemill.run("pni-latency", pages=True).pages()


def test_progress_counts_to_the_end(small):
    seen = []
    pagemill.run(small, {"workload.elements": [1024] * 5}, progress=lambda done, points: seen.append((done, points)))
    assert seen[-1] == (5, 5)
    assert seen == sorted(seen)


def test_an_exception_of_the_progress_function_stops_the_run(small):
    def stop(done, points):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        pagemill.run(small, progress=stop)


def test_other_threads_go_on_while_points_run():
    ticks = []
    ended = threading.Event()

    def tick():
        while not ended.is_set():
            ticks.append(None)
            ended.wait(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    before = len(ticks)
    pagemill.run("quickstart", {"transfer.mode": "multi-range"}, jobs=1)
    grown = len(ticks) - before
    ended.set()
    thread.join()
    assert grown > 1


@pytest.mark.parametrize("scenario", ["vector-add-scale", "uvm-on-demand", "cachepm-pairs"])
def test_ctrl_c_stops_a_long_run(tmp_path, scenario):
    program = tmp_path / "long.py"
    program.write_text(
        "import pagemill\n"
        "print('ready', flush=True)\n"
        "try:\n"
        f"    pagemill.run({scenario!r}, progress=False)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', flush=True)\n"
    )
    child = subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    try:
        rest, _ = child.communicate(timeout=120)
    finally:
        child.kill()
    assert rest == "interrupted\n"
    assert child.returncode == 0


def test_the_environment_is_a_plain_one():
    assert "PYTHONPATH" not in os.environ


@pytest.mark.parametrize("jobs, error", [(0, ValueError), (-1, ValueError), ("2", TypeError), (1.5, TypeError), (True, TypeError)])
def test_a_number_of_jobs_or_workers_is_a_number(jobs, error, tmp_path):
    with pytest.raises(error, match="jobs"):
        pagemill.run("smoke", jobs=jobs)
    with pytest.raises(error, match="jobs"):
        pagemill.rank("policies", jobs=jobs)
    with pytest.raises(error, match="workers"):
        pagemill.sweep("smoke", out=tmp_path, workers=jobs)
    with pytest.raises(error, match="points_per_task"):
        pagemill.sweep("smoke", out=tmp_path, points_per_task=jobs)


def test_a_text_is_no_list_of_its_letters(small):
    with pytest.raises(TypeError, match="policy='multi-range' is a name"):
        pagemill.run(small, policy="multi-range")
    with pytest.raises(TypeError, match="policies='tree'"):
        pagemill.run(small, policies="tree")


def test_only_results_are_concatenated(small):
    with pytest.raises(ValueError, match="results is empty"):
        pagemill.concat([])
    for wrong in ([5], "ab", 7, [{"rows": []}]):
        with pytest.raises(TypeError, match="results"):
            pagemill.concat(wrong)
    result = pagemill.run(small)
    assert pagemill.concat(result).to_json() == pagemill.concat([result]).to_json()
