"""Programs of `examples/` that need packages of others, on inputs that take seconds."""

import json
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not os.environ.get("PAGEMILL_TEST_FULL"), reason="only in --full: examples with packages of others")

SEARCHED = """
title = "searched"
kind = "gpu"
machine = "gtx480-paper"
workload = { name = "vector-add", elements = 4096 }
transfer = { page_size = "4 KiB", unit = "1 KiB" }
sweep = { "transfer.mode" = ["whole-page", "multi-range"] }
[[claims]]
id = "ratio"
text = "whole pages take twice as long"
published = 2.0
metric = "time_ns"
of = { mode = "whole-page" }
to = { mode = "multi-range" }
at_least = 1.5
at_most = 2.5
"""


def example(root: Path, name: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(root / "examples" / name), *words], capture_output=True, text=True)


def test_a_search_ends_with_settings_and_how_far_they_are_off(root: Path, tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    (tmp_path / "searched.toml").write_text(SEARCHED)
    finished = example(root, "fit.py", "--scenario", str(tmp_path / "searched.toml"), "--trials", "3")
    assert finished.returncode == 0, finished.stderr
    best, off = finished.stdout.splitlines()[:2]
    assert "machine.gmmu.merge" in best and off.strip().startswith("off by ratio 1")


#: Half-precision matrices of rows of 512 bytes, by name: how many rows.
DENSE = {"token_embd.weight": 2048, "blk.0.ffn_up.weight": 1024, "blk.1.ffn_up.weight": 1024}


def write_gguf(path: Path, rows: dict[str, int], **facts: int) -> None:
    import gguf
    import numpy as np

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(2)
    for key, value in facts.items():
        writer.add_uint32(f"llama.{key}", value)
    for name, count in rows.items():
        writer.add_tensor(name, np.zeros((count, 256), np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_safetensors(path: Path, rows: dict[str, int]) -> None:
    """The weights are a hole in the file."""
    table, end = {}, 0
    for name, count in rows.items():
        table[name] = {"dtype": "BF16", "shape": [count, 256], "data_offsets": [end, end + count * 512]}
        end += count * 512
    text = json.dumps(table).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text)
    os.truncate(path, 8 + len(text) + end)


def test_a_token_reads_what_the_tensors_are_in_either_format(root: Path, tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    pytest.importorskip("safetensors")
    write_gguf(tmp_path / "m.gguf", DENSE)
    write_safetensors(tmp_path / "m.safetensors", DENSE)
    write_gguf(tmp_path / "untied.gguf", {**DENSE, "output.weight": 2048})

    def lines(name: str) -> list[str]:
        return example(root, "model_size.py", str(tmp_path / name), "--machine", "a100-pcie4-x86").stdout.splitlines()

    said = [lines(name) for name in ("m.gguf", "m.safetensors", "untied.gguf")]
    assert said[0] == said[1] and len(said[0]) == 6
    assert said[0][0].endswith(f"a token reads {4096 * 512} bytes")
    # Of embeddings that are not the output, one row.
    assert said[2][0].endswith(f"a token reads {4096 * 512 + 512} bytes")
    # No more than the memory's 1539 GB/s; in place no more than the link's 32 GB/s.
    rates = {line.split(":")[0]: float(re.findall(r": (\S+) tokens", line)[0]) * 4096 * 512 for line in said[0][1:]}
    assert rates["zero-copy"] < 32e9 < rates["on demand"] < 1539e9


def test_what_is_no_whole_dense_model_is_refused(root: Path, tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    pytest.importorskip("safetensors")
    (tmp_path / "text.gguf").write_text("a text that is no model at all")
    write_gguf(tmp_path / "experts.gguf", DENSE, expert_count=8)
    write_safetensors(tmp_path / "named.safetensors", {**DENSE, "model.layers.0.mlp.experts.3.up_proj.weight": 2})
    write_gguf(tmp_path / "m-00001-of-00002.gguf", DENSE)
    write_gguf(tmp_path / "half.gguf", {name: rows for name, rows in DENSE.items() if "blk.1" not in name})
    for name, why in {
        "text.gguf": "header too large",
        "experts.gguf": "mixture of experts (llama.expert_count = 8)",
        "named.safetensors": "mixture of experts (model.layers.0",
        "m-00001-of-00002.gguf": "it has 2 parts, and 1 are named",
        "half.gguf": "it has 1 layers",
        "none.gguf": "No such file",
    }.items():
        finished = example(root, "model_size.py", str(tmp_path / name), "--machine", "rtx5090")
        assert finished.returncode == 2 and why in finished.stderr and name in finished.stderr, finished.stderr
