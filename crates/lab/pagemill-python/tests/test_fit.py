"""Searches for settings: the same as the command, on any executor."""

import concurrent.futures
import json

import pagemill
import pytest

CLAIM = {
    "id": "copying",
    "text": "copying first takes twice as long",
    "published": 2.0,
    "metric": "time_ns",
    "of": {"mode": "programmer-copy"},
    "to": {"mode": "ideal-overlap"},
    "at_least": 1.0,
}


@pytest.fixture
def searched(small):
    keys = {"machine.link.bandwidth": {"from": "1 GB/s", "to": "64 GB/s"}, "machine.gmmu.merge": ["gpu", "sm"]}
    modes = {"transfer.mode": ["ideal-overlap", "programmer-copy"]}
    return {**small, "sweep": modes, "fit": {"points": 12, "keys": keys}, "claims": [CLAIM]}


def test_any_executor_finds_the_same(searched, tmp_path):
    own = pagemill.fit(searched, workers=2)
    with concurrent.futures.ThreadPoolExecutor(3) as executor:
        threads = pagemill.fit(searched, executor=executor, out=tmp_path / "kept")
    assert own.to_json() == threads.to_json()
    assert (tmp_path / "kept/results/results.json").read_text() == own.to_json()
    assert [row["setting"] for row in own.rows] == list(range(13))
    best = min(own.rows[1:], key=lambda row: row["distance"])
    assert best["on_front"]


class Nothing(concurrent.futures.ThreadPoolExecutor):
    def submit(self, *_):
        raise AssertionError("everything is there")


def test_what_is_kept_is_not_run_again(searched, tmp_path):
    first = pagemill.fit(searched, out=tmp_path, workers=1)
    with Nothing() as executor:
        again = pagemill.fit(searched, out=tmp_path, executor=executor)
    assert again.to_json() == first.to_json()
    told = []
    more = pagemill.fit(searched, points=16, out=tmp_path, workers=1, progress=lambda done, points: told.append((done, points)))
    assert [row["machine.gmmu.merge"] for row in more.rows[:13]] == [row["machine.gmmu.merge"] for row in first.rows]
    assert told[-1] == (16, 16)


def test_the_command_finds_the_same(searched, tmp_path, pagemill_command):
    import subprocess

    from pagemill import _toml

    path = tmp_path / "scenario.toml"
    keys = {key: value for key, value in searched.items() if key != "name"}
    table = {"title": "scenario", **_toml.nested(keys)}
    path.write_text(_toml.document(table))
    done = subprocess.run([pagemill_command, "fit", str(path), "--format", "json"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["rows"] == json.loads(pagemill.fit(searched).to_json())["rows"]


def test_what_cannot_be_searched(searched):
    with pytest.raises(pagemill.InputError, match="has no section"):
        pagemill.fit({key: value for key, value in searched.items() if key != "fit"})
    with pytest.raises(pagemill.InputError, match="has a published value"):
        pagemill.fit({**searched, "claims": []})
