"""What training and inference use beside operations, on the GPU and on the CPU."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from beside_cpu import normal, same, whole
from torch.utils.data import DataLoader, TensorDataset

x, y = normal(32, 16), whole(0, 4, 32)


def layers(device):
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 4)).to(device)


def mixed(x, y):
    """Half precision, with a scale that one step's infinite gradient halves."""
    net, device = layers(x.device), x.device.type
    optimizer, scaler = torch.optim.AdamW(net.parameters(), lr=1e-2), torch.amp.GradScaler(device, growth_interval=2)
    seen = []
    for step in range(4):
        optimizer.zero_grad()
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = F.cross_entropy(net(x), y)
        scaler.scale(loss * (float("inf") if step == 1 else 1)).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        seen += [loss.detach(), torch.tensor(scaler.get_scale(), device=x.device)]
    return seen


def loaded(x, y):
    """Batches of other processes, through pinned memory."""
    pinned = x.is_cuda
    loader = DataLoader(TensorDataset(x.cpu(), y.cpu()), 8, num_workers=2, pin_memory=pinned, multiprocessing_context="fork")
    return [each.to(x.device, non_blocking=True) for batch in loader for each in batch]


def replayed(x):
    """A graph of CUDA's, with other values in its input."""
    net, still, seen = layers(x.device).requires_grad_(False), torch.zeros_like(x), []
    if x.is_cuda:
        net(still)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = net(still)
    for step in range(3):
        still.copy_(x * step)
        if x.is_cuda:
            graph.replay()
        else:
            result = net(still)
        seen.append(result.clone())
    return seen


def pictures(images, y):
    torch.manual_seed(2)
    net = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 4))
    net = net.to(images.device)
    loss_of = torch.compile(lambda: F.cross_entropy(net(images), y)) if images.is_cuda else lambda: F.cross_entropy(net(images), y)
    optimizer, seen = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9), []
    for _ in range(3):
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        seen.append(loss.detach())
    return seen


same("half precision", mixed, x, y, tolerance=2e-2)
same("workers", loaded, x, y)
same("graph", replayed, x, tolerance=1e-4)
same("convolutions, compiled", pictures, normal(8, 3, 8, 8), y[:8], tolerance=1e-3)
