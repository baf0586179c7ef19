"""Training of a small network, eager and compiled, beside the CPU; the numbers of the optimizer change from step to step."""

import torch
import torch.nn as nn
from beside_cpu import normal, same, whole


def losses(compiled, x, y):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 4)).to(x.device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)

    def loss_of(x, y):
        return nn.functional.cross_entropy(net(x), y)

    loss_of = torch.compile(loss_of) if compiled and x.is_cuda else loss_of
    found = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = loss_of(x, y)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        found.append(loss.detach())
    return found


for compiled in (False, True):
    same(f"losses, compiled: {compiled}", lambda x, y, way=compiled: losses(way, x, y), normal(64, 16), whole(0, 4, 64))
