"""Runs a function on the GPU and on JAX's CPU, and compares what it returns."""

import atexit

import jax
import numpy as np

CPU = jax.devices("cpu")[0]
GPU = jax.devices()[0]
assert GPU.platform == "gpu", GPU
count = 0


def same(name, function, *arguments, tolerance=1e-5):
    """`function` compiled for either device; leaves of its result agree within `tolerance`, and exactly if it is 0."""
    global count
    results = []
    for device in (GPU, CPU):
        placed = jax.device_put(arguments, device)
        results.append(jax.tree_util.tree_leaves(jax.jit(function)(*placed)))
    assert len(results[0]) == len(results[1]) > 0, name
    for ours, theirs in zip(*results):
        assert ours.devices() == {GPU}, (name, ours.devices())
        assert ours.dtype == theirs.dtype, name
        agree(name, ours, theirs, tolerance)
    count += 1


def agree(name, ours, theirs, tolerance):
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if tolerance == 0 or not jax.numpy.issubdtype(ours.dtype, jax.numpy.inexact):
        np.testing.assert_array_equal(ours, theirs, err_msg=name)
        return
    wide = np.complex128 if np.iscomplexobj(ours) else np.float64
    ours, theirs = ours.astype(wide), theirs.astype(wide)
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance, err_msg=name)


def normal(*shape, dtype="float32", seed=7):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32).astype(jax.numpy.dtype(dtype))


def integers(low, high, *shape, dtype="int32", seed=7):
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


atexit.register(lambda: print(f"{count} agree with JAX's CPU"))
