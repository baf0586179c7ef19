"""Policies of eviction, growth and prefetch written in Python, beside their twins in Rust."""

import pickle
import subprocess
import sys

import pagemill
import pytest

BLOCK_BYTES = 2 << 20


class LeastRecentlyUsed(pagemill.EvictionPolicy):
    name = "python-least-recently-used"
    tracks_use = True

    def __init__(self):
        self.order = {}

    def noted(self, events):
        for what, page in events:
            self.order.pop(page, None)
            if what != "left":
                self.order[page] = None

    def victim(self, keep):
        return next(page for page in self.order if page != keep)


class SpareReturning(pagemill.EvictionPolicy):
    name = "python-spare-returning"

    def __init__(self):
        self.order = {}
        self.returns = {}

    def noted(self, events):
        for what, page in events:
            self.order.pop(page, None)
            if what == "came":
                self.returns[page] = self.returns.get(page, -1) + 1
            if what != "left":
                self.order[page] = None

    def victim(self, keep):
        oldest = [page for page in self.order if page != keep][:16]
        return min(oldest, key=lambda page: self.returns.get(page, 0))


class TreePreEviction(LeastRecentlyUsed):
    name = "python-tree-pre-eviction"

    def victim(self, keep):
        victim = super().victim(keep)
        leaving = range(0)
        for size in (2, 4, 8, 16, 32):
            node = range(victim // size * size, victim // size * size + size)
            left = sum(page in self.order and page != victim and page not in leaving for page in node)
            if 2 * left < size:
                leaving = node
        return [victim, *(page for page in leaving if page in self.order and page not in (victim, keep))]


class BigPage(pagemill.GrowthPolicy):
    name = "python-big-page"

    def grow(self, resident, faulted, barred, around):
        grown = 0
        for start in range(0, 512, 16):
            big_page = self.pages(start, start + 16)
            if faulted & big_page:
                grown |= big_page
        return grown


class DensityTree(BigPage):
    name = "python-density-tree"

    def build(self, density_percent):
        policy = DensityTree()
        policy.percent = density_percent
        return policy

    def grow(self, resident, faulted, barred, around):
        wanted = super().grow(resident, faulted, barred, around)
        dense = (resident | wanted) & ~barred
        grown = 0
        for start in range(0, 512, 16):
            if not wanted >> start & 1:
                continue
            largest = self.pages(start, start + 16)
            for size in (32, 64, 128, 256, 512):
                tree = self.pages(start // size * size, start // size * size + size)
                if (dense & tree).bit_count() * 100 > size * self.percent:
                    largest = tree
            grown |= largest
        return grown


class NextBlocks(pagemill.PrefetchPolicy):
    name = "python-next-blocks"

    def blocks(self, around):
        if 2 * around.valid_bytes[around.page] < BLOCK_BYTES or around.frames < 16:
            return []
        end = min(around.allocation[1], around.page + 5)
        return [block for block in range(around.page + 1, end) if around.valid_bytes[block] == 0]


DRIVEN = {
    "kind": "gpu",
    "machine": "a100-pcie4-x86",
    "workload": {"name": "vector-add", "elements": 1 << 20},
    "transfer": {"mode": "on-demand"},
    "machine.memory.size": "8 MiB",
    "machine.memory.reserved": "2 MiB",
}
RANGES = {
    "kind": "gpu",
    "machine": "gtx480",
    "workload": {"name": "bfs", "nodes": 2048},
    "transfer": {"mode": "multi-range", "page_size": "4 KiB", "unit": "128 B"},
    "machine.dram.capacity": "48 KiB",
}


def rows_of(scenario, key, values, policies):
    overrides = {name: value for name, value in scenario.items() if "." in name}
    scenario = {name: value for name, value in scenario.items() if "." not in name}
    rows = pagemill.run(scenario, {**overrides, key: values}, policies=policies).rows
    for row in rows:
        row.pop(key, None)
        row.pop(key.removeprefix("machine."), None)
    return rows


TWINS = [
    (RANGES, "machine.gmmu.eviction", LeastRecentlyUsed()),
    (RANGES, "machine.gmmu.eviction", SpareReturning()),
    (RANGES, "machine.gmmu.eviction", TreePreEviction()),
    (DRIVEN, "machine.policy.eviction", LeastRecentlyUsed()),
    (DRIVEN, "machine.policy.eviction", SpareReturning()),
    (DRIVEN, "machine.policy.eviction", TreePreEviction()),
    (DRIVEN, "machine.policy.growth", BigPage()),
    (DRIVEN, "machine.policy.growth", DensityTree()),
    ({**DRIVEN, "machine.memory.size": "36 MiB"}, "machine.policy.prefetch", NextBlocks()),
]


@pytest.mark.parametrize(("scenario", "key", "policy"), TWINS, ids=lambda it: getattr(it, "name", ""))
def test_rows_are_those_of_the_twin(scenario, key, policy):
    twin = policy.name.removeprefix("python-")
    rust, python, again = rows_of(scenario, key, [twin, policy.name, policy.name], [policy])
    assert python == rust
    assert again == rust, "a policy begins anew in each point"


def test_twins_decide_something():
    """Rows that are equal whatever decides would show nothing."""
    base = rows_of(RANGES, "machine.gmmu.eviction", ["least-recently-used", "newest-first"], [])
    assert base[0]["evictions"] > 10 and base[0] != base[1]
    driven = rows_of(DRIVEN, "machine.policy.eviction", ["migration-order", "newest-first"], [])
    assert driven[0]["evictions"] > 2 and driven[0] != driven[1]
    growth = rows_of(DRIVEN, "machine.policy.growth", ["big-page", "density-tree"], [])
    assert growth[0] != growth[1]
    roomy = {**DRIVEN, "machine.memory.size": "36 MiB"}
    ahead = rows_of(roomy, "machine.policy.prefetch", ["none", "next-blocks"], [])
    assert ahead[0] != ahead[1]


def test_an_object_decides_where_it_is_given():
    given = {name: value for name, value in RANGES.items() if "." not in name}
    seen = []

    class Newest(pagemill.EvictionPolicy):
        name = "newest"

        def __init__(self):
            self.held = []

        def noted(self, events):
            for what, page in events:
                if what == "came":
                    self.held.append(page)
                elif what == "left":
                    self.held.remove(page)

        def victim(self, keep):
            seen.append(keep)
            return self.held[-1]

    python = pagemill.run(given, {"machine.dram.capacity": "48 KiB"}, policy=[Newest()])
    rust = pagemill.run(given, {"machine.dram.capacity": "48 KiB", "machine.gmmu.eviction": "newest-first"})
    assert seen and python.rows == rust.rows


def driven(policy, **more):
    overrides = {name: value for name, value in DRIVEN.items() if "." in name}
    scenario = {name: value for name, value in DRIVEN.items() if "." not in name}
    return pagemill.run(scenario, {**overrides, **more}, policy=policy)


class Broken(pagemill.EvictionPolicy):
    name = "broken"

    def __init__(self, answer):
        self.answer = answer

    def victim(self, keep):
        return self.answer(keep) if callable(self.answer) else self.answer


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (4711, ValueError, r"Broken.victim answered 4711: page 4711 is not in GPU memory"),
        ([], ValueError, r"Broken.victim answered \[\]: at least one page has to leave"),
        (lambda keep: [0, 0], ValueError, "page 0 is named twice|page 0 is not in GPU memory"),
        (None, TypeError, r"Broken.victim answered None: the number of a page in GPU memory"),
        ("first", TypeError, r"Broken.victim answered 'first'"),
        (-1, TypeError, r"Broken.victim answered -1"),
        (lambda keep: 1 / 0, ZeroDivisionError, "division"),
    ],
)
def test_a_victim_that_breaks_the_contract_is_an_error(answer, error, message):
    with pytest.raises(error, match=message) as raised:
        driven(Broken(answer))
    assert raised.value.__notes__ == ["in Broken.victim, the policy \"broken\""]


@pytest.mark.parametrize("answer", [None, -1, 1 << 512, [1, 2], "all"])
def test_a_growth_of_the_wrong_type_is_an_error(answer):
    class Grown(pagemill.GrowthPolicy):
        name = "grown"

        def grow(self, resident, faulted, barred, around):
            return answer

    with pytest.raises(TypeError, match=r"Grown.grow answered .*: an int with a bit for each of 512 pages"):
        driven(Grown())


def test_a_block_outside_of_the_allocation_is_an_error():
    class Beyond(pagemill.PrefetchPolicy):
        name = "beyond"

        def blocks(self, around):
            return [around.allocation[1]]

    with pytest.raises(ValueError, match=r"Beyond.blocks answered .* is not in the allocation of block"):
        driven(Beyond())


def test_what_build_and_noted_raise_names_them():
    class Unbuilt(Broken):
        name = "unbuilt"

        def build(self):
            raise OSError("no file")

    with pytest.raises(OSError, match="no file") as raised:
        driven(Unbuilt(0))
    assert "in Unbuilt.build" in raised.value.__notes__[0]

    class Deaf(Broken):
        name = "deaf"

        def noted(self, events):
            raise KeyError(events[0])

    with pytest.raises(KeyError) as raised:
        driven(Deaf(0))
    assert "in Deaf.noted" in raised.value.__notes__[0]


def test_a_migration_policy_sees_what_lies_around(small):
    seen = []

    class Looking(pagemill.MigrationPolicy):
        name = "looking"
        looks_around = True
        neighbors = 2
        tracks_faults = True

        def plan(self, page_bytes, valid, request, around):
            known = sum(end - start for start, end in valid)
            seen.append(around)
            assert around.valid_bytes[around.page] == known
            assert around.page - 2 <= min(around.valid_bytes) and max(around.valid_bytes) <= around.page + 2
            assert around.allocation[0] <= around.page < around.allocation[1]
            return self.missing(valid, request)

    python = pagemill.run(small, {"machine.dram.capacity": "48 KiB"}, policy=Looking())
    rust = pagemill.run(small, {"machine.dram.capacity": "48 KiB", "transfer.mode": "multi-range"})
    assert python.rows[0]["time_ns"] == rust.rows[0]["time_ns"]
    assert [around.fault_count for around in seen] == list(range(len(seen)))
    for before, around in zip(seen, seen[1:]):
        assert around.recent_faults[0] == before.page
        assert len(around.recent_faults) == min(around.fault_count, 64)
    assert all(0 <= around.free_frames <= around.frames == 12 for around in seen)
    assert len({around.allocation for around in seen}) > 1


def test_policies_of_python_stay_in_their_process(small, tmp_path):
    scenario = pagemill.Scenario(small, policies=[LeastRecentlyUsed()])
    with pytest.raises(TypeError, match="cannot be sent"):
        pickle.dumps(scenario)
    with pytest.raises(pagemill.InputError, match="no results are kept under the name of a policy"):
        pagemill.sweep(scenario, out=tmp_path / "sweep")
    with pytest.raises(pagemill.InputError, match="python-least-recently-used"):
        pagemill.Scenario(small, {"machine.gmmu.eviction": "python-least-recently-used"})


def test_a_script_with_a_broken_policy_ends_with_exit_code_1():
    script = """
import pagemill

class Broken(pagemill.EvictionPolicy):
    name = "broken"

    def victim(self, keep):
        return 4711

scenario = {"kind": "gpu", "machine": "gtx480", "workload": {"name": "bfs", "nodes": 2048}, "transfer": {"mode": "multi-range", "page_size": "4 KiB"}}
pagemill.run(scenario, {"machine.dram.capacity": "48 KiB"}, policy=Broken())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.endswith(
        'ValueError: Broken.victim answered 4711: page 4711 is not in GPU memory\nin Broken.victim, the policy "broken"\n'
    )
    assert "panic" not in done.stderr
