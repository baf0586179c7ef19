"""How many tokens a second does a GPU get from a language model that it does not fit?

    pip install gguf safetensors
    python examples/model_size.py model.gguf --machine rtx5090          # all parts of a split model, or model-*.safetensors

The tables of tensors are read, never the weights. A token reads each weight once, in order: a loop of the pattern `grid-stride`
that finds memory as the loop before left it, simulated at a share of the size. Figures are upper bounds: the time to compute, the KV cache
and other conversations are not in them, and no row has been compared with a real GPU.
"""

import argparse
import json
import math
import re
from pathlib import Path
from typing import Any, NamedTuple

import gguf
import pagemill
import safetensors

MIB = 1 << 20
#: Weights that are simulated, if that leaves the GPU memory below, in half of which prefetching the next blocks still has room.
SIMULATED_BYTES, GPU_BYTES = 256 * MIB, 96 * MIB
#: Ways to place weights: those that programs have today, and two that they do not. What each sets.
WAYS = {
    "on demand": {"residency.strategy": "on-demand"},
    "zero-copy": {"residency.strategy": "zero-copy"},
    "layers split": {"residency.strategy": "bulk-prefetch"},
    "prefetch across blocks": {"residency.strategy": "on-demand", "machine.policy.prefetch": "next-blocks"},
    "partial pages": {"residency.strategy": "partial-pages"},
}
#: Tables with a row for each token that may be the output too; those of which a token reads a row; outputs; what no token reads; experts.
EMBEDDINGS = {"token_embd", "embed_tokens", "wte", "word_embeddings", "tok_embeddings", "embed_in", "embeddings", "embedding"}
ROWS = {"per_layer_token_embd", "embed_tokens_per_layer", "position_embd", "token_types", "wpe", "embed_positions", "position_embeddings"}
OUTPUTS = {"output", "lm_head", "embed_out", "output_layer", "head"}
NOT_OF_TOKENS = {"vision_tower", "vision_model", "vision_encoder", "visual", "audio_tower", "audio_encoder", "multi_modal_projector", "mm", "v"}
EXPERTS = re.compile(r"expert|(exps|moe)\b|\bshexp|switch|\brouter\b|ffn_gate_inp|ffn_(gate|up|down)\.\d")
EXPERT_COUNT = re.compile(r"expert_count$|\b(n|num)_(?!shared)\w*experts?$")


class Tensor(NamedTuple):
    name: str
    shape: list[int]  # The outermost side first.
    bytes: int

    def begins_with(self, names: set[str]) -> bool:
        """Whether a part of the name before the number of the layer is one of these."""
        return not names.isdisjoint(re.split(r"\.\d+\.", self.name)[0].split("."))

    def is_output(self) -> bool:
        return len(self.shape) > 1 and re.search(r"\.\d+\.", self.name) is None and self.name.split(".")[-2:][0] in OUTPUTS


def read(path: Path) -> tuple[list[Tensor], dict[str, int]]:
    """The tensors of a file, and what it says of itself in whole numbers."""
    with path.open("rb") as file:
        magic = file.read(4)
    if magic == b"GGUF":
        reader = gguf.GGUFReader(path)
        facts = {key: field.contents() for key, field in reader.fields.items() if field.types[:1] != [gguf.GGUFValueType.ARRAY]}
        tensors = [Tensor(tensor.name, [int(side) for side in reversed(tensor.shape)], int(tensor.n_bytes)) for tensor in reader.tensors]
    else:
        config = path.with_name("config.json")
        facts = json.loads(config.read_text()) if config.is_file() else {}
        facts |= facts.get("text_config", {})
        with safetensors.safe_open(path, "numpy") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}
        # The first number of a type is its bits: BF16, F8_E4M3; a BOOL has none.
        bits = {name: int((re.findall(r"\d+", part.get_dtype()) or [8])[0]) for name, part in slices.items()}
        tensors = [Tensor(name, part.get_shape(), math.prod(part.get_shape()) * bits[name] // 8) for name, part in slices.items()]
    return tensors, {key: value for key, value in facts.items() if isinstance(value, int)}


def model(paths: list[Path]) -> list[Tensor]:
    """All tensors of a dense model; whatever else the files are is a ValueError."""
    parts = [read(path) for path in paths]
    tensors = [tensor for part, _ in parts for tensor in part]
    facts = {key: value for _, part in parts for key, value in part.items()}
    names = [tensor.name for tensor in tensors]
    named = [int(count) for path in paths for count in re.findall(r"-of-(\d+)\.", path.name)]
    wanted = max(facts.get("split.count", 1), *named, 1)
    layers = {name.split(".")[1] for name in names if name.startswith("blk.")}
    experts = [f"{key} = {value}" for key, value in facts.items() if value > 0 and EXPERT_COUNT.search(key)]
    experts += [name for name in names if EXPERTS.search(name)]
    if experts:
        raise ValueError(f"a mixture of experts ({experts[0]}), of which each token reads others: dense models only")
    if len(paths) != wanted:
        raise ValueError(f"it has {wanted} parts, and {len(paths)} are named: name each of them once")
    if len(set(names)) < len(names) or facts.get("split.tensors.count", len(names)) != len(names):
        raise ValueError("a tensor is there twice or missing: these are parts of two models")
    if layers and len(layers) < max([value for key, value in facts.items() if key.endswith(".block_count")], default=0):
        raise ValueError(f"it has {len(layers)} layers, and says that it has more: it is a part of a model")
    if not any(tensor.begins_with(EMBEDDINGS) for tensor in tensors):
        raise ValueError("no tensor has a known name of a table of embeddings: it is a part of a model, or of an unknown kind")
    return tensors


def token_bytes(tensors: list[Tensor]) -> int:
    """Bytes that a token reads: of embeddings one row, unless they are the output too."""
    used = [tensor for tensor in tensors if not tensor.begins_with(NOT_OF_TOKENS)]
    tables = ROWS | EMBEDDINGS if any(tensor.is_output() for tensor in used) else ROWS
    return sum(tensor.bytes // tensor.shape[0] if tensor.begins_with(tables) else tensor.bytes for tensor in used)


def run(machine: str, sets: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of the pattern."""
    scenario = {"kind": "residency", "machine": machine, "access.pattern": "grid-stride", "access.variant": "free-running"}
    return pagemill.run(scenario, {"residency.reuse": True, **sets}).rows


def seconds_per_byte(machine: str, way: str, factor: float, model_bytes: int) -> tuple[float, float]:
    """Time to read a byte of the weights once memory has settled, at two sizes of which one is half the other."""
    gpu_bytes = min(max(SIMULATED_BYTES, GPU_BYTES * factor), model_bytes) / factor
    sizes = [f"{int(gpu_bytes / share)} B" for share in (1, 2)]
    fixed = {**WAYS[way], "residency.factor": factor, "machine.memory.reserved": "0 B", "machine.memory.size": sizes}
    rows = run(machine, {**fixed, "residency.loops": [1, 2]})
    # Access counters go on moving weights after the first token.
    if any(row["counter_migrations"] for row in rows):
        rows = run(machine, {**fixed, "residency.loops": [4, 8]})
    return later(*rows[:2]), later(*rows[2:])


def later(few: dict[str, Any], many: dict[str, Any]) -> float:
    """Seconds for a byte in the loops that only `many` has."""
    time_ns = many["time_ns"] * many["loops"] - few["time_ns"] * few["loops"]
    return time_ns / 1e9 / (many["allocated_bytes"] * (many["loops"] - few["loops"]))


def main() -> None:
    parser = argparse.ArgumentParser(description="Tokens a second of a language model that GPU memory does not hold.")
    parser.add_argument("model", type=Path, nargs="+", help="GGUF or safetensors; of a split model all parts")
    parser.add_argument("--machine", required=True, help="a GPU with a driver: pagemill list machines")
    given = parser.parse_args()
    try:
        tensors = model(given.model)
        (smallest,) = run(given.machine, {**WAYS["zero-copy"], "residency.factor": 1e-4})
    except (OSError, ValueError, safetensors.SafetensorError) as error:
        parser.error(f"{given.model[0]} on {given.machine}: {error}")
    model_bytes, read_bytes = sum(tensor.bytes for tensor in tensors), token_bytes(tensors)
    factor = model_bytes / smallest["gpu_bytes"]
    print(f"{model_bytes} bytes of weights, {factor:.3g} times GPU memory; a token reads {read_bytes} bytes")
    for way in WAYS:
        whole, half = seconds_per_byte(given.machine, way, factor, model_bytes)
        tokens = 1 / (whole * read_bytes)
        print(f"{way}: {tokens:.4g} tokens a second, off by {tokens * abs(half / whole - 1):.2g} at half the size")


if __name__ == "__main__":
    main()
