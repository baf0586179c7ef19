"""Policies written in Python, beside their twins in Rust."""

import json
import subprocess

import numpy as np
import pagemill
import pytest


class WholePage(pagemill.MigrationPolicy):
    name = "python-whole-page"
    range_limit = 1

    def plan(self, page_bytes, valid, request):
        return self.missing(valid, (0, page_bytes))


class SingleRange(pagemill.MigrationPolicy):
    name = "python-single-range"
    range_limit = 1

    def plan(self, page_bytes, valid, request):
        start, end = request
        if valid:
            start, end = min(start, valid[0][0]), max(end, valid[-1][1])
        return self.missing(valid, (start, end))


class MultiRange(pagemill.MigrationPolicy):
    """Without gaps that move and without a limit of ranges."""

    name = "python-multi-range"

    def plan(self, page_bytes, valid, request):
        return self.missing(valid, request)


TWINS = [(WholePage, "whole-page"), (SingleRange, "single-range"), (MultiRange, "multi-range")]


@pytest.mark.parametrize(("policy", "twin"), TWINS)
@pytest.mark.parametrize("workload", [{"name": "bfs", "nodes": 512}, {"name": "laplace3d", "nx": 16, "ny": 16, "nz": 16}])
def test_rows_are_those_of_the_twin(policy, twin, workload):
    transfer = {"mode": twin, "page_size": "4 KiB", "unit": "128 B"}
    scenario = {"kind": "gpu", "machine": "gtx480", "workload": workload, "transfer": transfer}
    rust = pagemill.run(scenario).rows
    python = pagemill.run(scenario, policy=policy()).rows
    for row in rust + python:
        del row["mode"]
        row.pop("time_over_programmer_copy", None)
    assert python == rust


@pytest.mark.parametrize(("policy", "twin"), TWINS)
def test_a_gpu_runs_under_a_python_policy(policy, twin):
    rows = []
    for choice in (policy(), twin):
        gpu = pagemill.Gpu("gtx480", choice, page_size="64 KiB")
        arrays = [gpu.managed(np.full(3000, i, np.float32)) for i in range(3)]
        gpu.launch(pagemill.ptx("vector-add"), "vector_add", 12, 256, [*arrays, 3000])
        assert (arrays[2].numpy() == 1).all()
        row = gpu.finish().rows[0]
        del row["mode"]
        rows.append(row)
    assert rows[0] == rows[1]


class Broken(pagemill.MigrationPolicy):
    name = "broken"

    def __init__(self, answer):
        self.answer = answer

    def plan(self, page_bytes, valid, request):
        return self.answer(page_bytes, valid, request) if callable(self.answer) else self.answer


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        ([], ValueError, "part of the request"),
        ([(0, 1 << 20)], ValueError, "no range within the page"),
        ([(128, 128)], ValueError, "no range within the page"),
        ([(0, 100)], ValueError, "whole units of 128 B"),
        (lambda page, valid, request: [request, request], ValueError, "ascending and disjoint"),
        (lambda page, valid, request: [(0, page)] if valid else [request], ValueError, "valid already"),
        ("everything", TypeError, "list of pairs"),
        (None, TypeError, "list of pairs"),
        ([(-1, 4096)], TypeError, "list of pairs"),
        (lambda page, valid, request: 1 / 0, ZeroDivisionError, "division"),
    ],
)
def test_an_answer_that_breaks_the_contract_is_an_error(answer, error, message, small):
    with pytest.raises(error, match=message):
        pagemill.run({**small, "workload": {"name": "bfs", "nodes": 512}}, policy=Broken(answer))


def test_build_is_told_the_keys(small):
    seen = []

    class Curious(MultiRange):
        name = "curious"

        def build(self, spec):
            seen.append(spec)
            return self

    pagemill.run(small, {"transfer.range_slots": 4, "transfer.gap_threshold": "256 B"}, policy=Curious())
    assert seen == [{"page_bytes": 4096, "unit_bytes": 128, "gap_threshold_bytes": 256, "range_slots": 4}]


def test_what_is_no_policy_is_refused(small):
    with pytest.raises(TypeError, match="MigrationPolicy"):
        pagemill.run(small, policy=object())
    with pytest.raises(TypeError, match="Nameless has no `name`"):
        pagemill.run(small, policy=type("Nameless", (pagemill.MigrationPolicy,), {})())
    taken = type("Taken", (pagemill.EvictionPolicy,), {"name": "newest-first"})
    with pytest.raises(ValueError, match="Taken has the name .newest-first., which another policy has"):
        pagemill.run(small, policy=taken())
    with pytest.raises(pagemill.InputError, match='kind "nic"'):
        pagemill.run("pni-latency", policy=WholePage())


def test_valid_ranges_are_a_sequence(small):
    seen = []

    class Keeping(MultiRange):
        name = "keeping"
        looks_around = True

        def plan(self, page_bytes, valid, request, around):
            listed = list(valid)
            assert valid == listed
            assert len(valid) == len(listed)
            assert repr(valid) == repr(listed)
            assert valid[1:] == listed[1:]
            assert [valid[at] for at in range(-len(listed), len(listed))] == listed * 2
            assert all(pair in valid for pair in listed)
            assert request not in valid
            with pytest.raises(IndexError):
                valid[len(listed)]
            for wanted in [request, (0, page_bytes), (5, 5), (100, page_bytes - 100)]:
                assert self.missing(valid, wanted) == self.missing(listed, wanted)
            seen.append(len(listed))
            return self.missing(valid, request)

    small["workload"] = {"name": "bfs", "nodes": 512}
    pagemill.run(small, policy=Keeping())
    assert max(seen) > 3


SMALL = """
title = "small"
kind = "gpu"
machine = "gtx480"
workload = { name = "vector-add" }
transfer = { page_size = "4 KiB", unit = "128 B" }
"""


def test_policies_are_ranked_with_those_of_the_command(tmp_path, pagemill_command):
    small = tmp_path / "small.toml"
    small.write_text(SMALL)
    swept = {"transfer.mode": ["whole-page", "multi-range"], "workload.elements": [1000, 5000]}
    sets = [word for key, values in swept.items() for word in ("--set", f"{key}={json.dumps(values)}")]
    command = [pagemill_command, "rank", small, *sets, "--format", "json"]
    printed = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert pagemill.rank(small, swept).rows == printed["rows"]

    # A policy of Python takes part, and is as good as its twin.
    swept["transfer.mode"].append(MultiRange.name)
    ranked = pagemill.rank(small, swept, policies=[MultiRange()])
    over_best = {row["policy"]: row["over_best"] for row in ranked.rows}
    assert over_best[MultiRange.name] == over_best["multi-range"] == 1
    assert over_best["whole-page"] > 1
    with pytest.raises(pagemill.InputError, match=r"`machine.gmmu.eviction` is not swept"):
        pagemill.rank(small, swept, by="machine.gmmu.eviction", policies=[MultiRange()])
