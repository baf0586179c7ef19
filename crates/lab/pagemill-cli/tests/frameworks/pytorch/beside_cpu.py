"""Runs a function on tensors of the GPU and of the CPU, and compares what it returns."""

import atexit

import torch
from torch.utils._pytree import tree_leaves, tree_map_only

count = 0


def same(name, function, *arguments, tolerance=1e-5):
    """`function` for either device: the leaves of its result agree within `tolerance`, and exactly if they are no floats."""
    global count
    results = [tree_leaves(function(*placed(arguments, device))) for device in ("cuda", "cpu")]
    assert len(results[0]) == len(results[1]) > 0, name
    for ours, theirs in zip(*results):
        assert ours.is_cuda and not theirs.is_cuda, name
        assert ours.shape == theirs.shape, (name, ours.shape, theirs.shape)
        torch.testing.assert_close(ours.cpu(), theirs, rtol=tolerance, atol=tolerance, msg=lambda text: f"{name}: {text}")
    count += 1


def placed(arguments, device):
    return tree_map_only(torch.Tensor, lambda tensor: tensor.detach().clone().to(device), arguments)


def normal(*shape, seed=7):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def whole(low, high, *shape, seed=7):
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed))


atexit.register(lambda: print(f"{count} agree with PyTorch's CPU"))
