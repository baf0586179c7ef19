"""What training and inference use beside operations, on the GPU and on the CPU."""

import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl
from beside_cpu import normal, same, whole
from torch.utils.checkpoint import checkpoint
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


def fused(x, y):
    """The optimizer in one call, with a rate that falls and a step that is left out."""
    net, device = layers(x.device), x.device.type
    optimizer, scaler = torch.optim.AdamW(net.parameters(), lr=1e-2, fused=True), torch.amp.GradScaler(device)
    schedule, seen = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5), []
    for step in range(3):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        scaler.scale(loss * (float("inf") if step == 1 else 1)).backward()
        scaler.step(optimizer)
        scaler.update()
        schedule.step()
        seen.append(loss.detach())
    return [*seen, *(weight.detach() for weight in net.parameters())]


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


@triton.autotune(configs=[triton.Config({"BLOCK": block}) for block in (64, 128)], key=["count"])
@triton.jit
def doubled(values, results, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(results + at, 2 * tl.load(values + at, at < count), at < count)


def tuned(x):
    """A Triton kernel of the program's own, whose configurations are tried out."""
    if not x.is_cuda:
        return 2 * x
    results = torch.empty_like(x)
    doubled[lambda chosen: (triton.cdiv(x.numel(), chosen["BLOCK"]),)](x, results, x.numel())
    return results


def repeated(x):
    """`torch.compile` with graphs of CUDA's."""
    net = layers(x.device).requires_grad_(False)
    run = torch.compile(net, mode="reduce-overhead") if x.is_cuda else net
    return [run(x * step).clone() for step in range(4)]


def kept(x):
    """What is saved and loaded goes on as before."""
    net = layers(x.device)
    with tempfile.TemporaryFile() as file:
        torch.save({"weights": net.state_dict(), "input": x}, file)
        file.seek(0)
        found = torch.load(file)
    other = layers(x.device)
    for weight in other.parameters():
        weight.detach().zero_()
    other.load_state_dict(found["weights"])
    return checkpoint(other, found["input"], use_reentrant=False).detach()


def pictures(images, y):
    torch.manual_seed(2)
    net = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 4)
    )
    net = net.to(images.device)
    loss_of = (
        torch.compile(lambda: F.cross_entropy(net(images), y)) if images.is_cuda else lambda: F.cross_entropy(net(images), y)
    )
    optimizer, seen = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9), []
    for _ in range(3):
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        seen.append(loss.detach())
    return seen


def compiled(x):
    """`torch.compile` for either device, with sizes that change."""
    torch._dynamo.reset()
    net = layers(x.device)
    run = torch.compile(net, fullgraph=True)
    run(x).square().mean().backward()
    return [run(x[:7]).detach(), run(x[:3]).detach(), *(weight.grad for weight in net.parameters())]


def optimized(x):
    """Three steps of each optimizer, of whose weights the mean is kept."""
    seen = []
    for name, rate in dict(SGD=0.1, RMSprop=0.01, Adagrad=0.1, Adamax=0.01, NAdam=0.01, RAdam=0.01).items():
        net = layers(x.device)
        optimizer, mean = getattr(torch.optim, name)(net.parameters(), lr=rate), torch.optim.swa_utils.AveragedModel(net)

        def loss_of(net=net, optimizer=optimizer):
            optimizer.zero_grad()
            loss = net(x).square().mean()
            loss.backward()
            return loss

        for _ in range(3):
            optimizer.step(loss_of)
            mean.update_parameters(net)
        seen.append(mean(x).detach())
    return seen


def grouped(x):
    """One of one process."""
    if not x.is_cuda:
        return F.batch_norm(x, None, None, training=True)
    with tempfile.TemporaryDirectory() as folder:
        torch.distributed.init_process_group("nccl", init_method=f"file://{folder}/group", rank=0, world_size=1)
        net = nn.SyncBatchNorm(16).cuda()
        result = nn.parallel.DistributedDataParallel(net)(x).detach()
        torch.distributed.destroy_process_group()
    return result


same("half precision", mixed, x, y, tolerance=2e-2)
same("fused", fused, x, y, tolerance=1e-4)
same("workers", loaded, x, y)
same("graph", replayed, x, tolerance=1e-4)
same("graphs, compiled", repeated, x, tolerance=1e-4)
same("tuned", tuned, x)
same("kept", kept, x, tolerance=1e-4)
same("convolutions, compiled", pictures, normal(8, 3, 8, 8), y[:8], tolerance=1e-3)
same("compiled", compiled, x, tolerance=1e-4)
same("optimizers", optimized, x, tolerance=1e-3)
same("group", grouped, x, tolerance=1e-4)
