"""Operations without `torch.compile`."""

import torch
import torch.nn.functional as F
from beside_cpu import normal, same, whole

x, y = normal(33, 17), normal(33, 17, seed=8)
for name in "exp sin tanh sigmoid abs floor neg erf square".split():
    same(name, getattr(torch, name), x)
for name in "add sub mul div maximum atan2 gt eq".split():
    same(name, getattr(torch, name), x, y)
same("scalars", lambda a: a * 2 + 1, x)
same("scalars of other types", lambda a: [a * 2.5, a // 2, a / 3, a == 2, a.float() ** 0.5, a[0, 0].float() * 0.1], whole(1, 9, 5, 4))
same("zeros with a sign", lambda a: [1 / torch.full_like(a, -0.0), 1 / torch.zeros_like(a)], x[0])
same("broadcast", lambda a, b: a[:, None] + b[None, :], x[:, 0], y[0])
same("in place", lambda a, b: a.add_(b).mul_(2).clamp_(-1, 1), x, y)
same("out", lambda a, b: torch.add(a, b, out=torch.empty(0, device=a.device)), x, y)
same("unaligned", lambda a: a.flatten()[1:].exp(), x)
same("conversions", lambda a: [a.to(kind) for kind in (torch.float64, torch.int32, torch.bool, torch.bfloat16)], 10 * x)
same("transposed copy", lambda a: a.t().contiguous(), x)
same("made", lambda a: [torch.ones_like(a), torch.full((3,), 7.0, device=a.device), torch.arange(5, device=a.device)], x)
same("where", lambda a, b: torch.where(a > b, a, b), x, y)
same("sum", lambda a: [a.sum(), a.sum(0), a.mean(1), a.var(0)], x, tolerance=1e-4)
same("largest", lambda a: [a.max(), a.argmax(1), *a.min(0)], x)
same("softmax", lambda a: [a.softmax(-1), a.log_softmax(0)], x)
same("running sum", lambda a: a.cumsum(0), x, tolerance=1e-4)
same("sort", lambda a: list(a.sort(1)), x)
same("top", lambda a: list(a.topk(3)), x)
same("cat", lambda a, b: [torch.cat([a, b]), torch.stack([a, b])], x, y)
same("index", lambda a, i: [a[i], a.index_select(0, i), a.gather(0, i[:, None])], x, whole(0, 33, 9))
same("scatter", lambda a, i, b: a.scatter_add(0, i, b), x, whole(0, 33, 33, 17), y, tolerance=1e-4)
same("mask", lambda a: [a.masked_fill(a > 0, 0.0), a[a > 0], (a > 0).nonzero()], x)
same("matrix product", lambda a, b: [a @ b.t(), torch.addmm(a[:, 0], a, b.t())], x, y, tolerance=1e-4)
same("batched product", lambda a, b: torch.bmm(a, b), normal(3, 20, 30), normal(3, 30, 10), tolerance=1e-4)
same("linear", F.linear, x, normal(5, 17), normal(5), tolerance=1e-4)
same("embedding", F.embedding, whole(0, 33, 2, 6), x)
same("layer norm", lambda a: F.layer_norm(a, (17,)), x)
same("cross entropy", F.cross_entropy, x, whole(0, 17, 33))
same("attention", F.scaled_dot_product_attention, *(normal(2, 4, 16, 8, seed=seed) for seed in (1, 2, 3)), tolerance=1e-4)
same("several", lambda a, b: torch._foreach_add([a, b], [b, a], alpha=2), x, y)


def convolved(function, **how):
    def with_gradients(*tensors):
        given = [tensor.requires_grad_() for tensor in tensors]
        result = function(*given, **how)
        result.square().mean().backward()
        return [result, *(tensor.grad for tensor in given)]

    return with_gradients


def convolution(name, function, image, weights, channels, **how):
    same(name, convolved(function, **how), image, weights, normal(channels), tolerance=1e-3)


image = normal(2, 4, 9, 8)
convolution("convolution", F.conv2d, image, normal(6, 2, 3, 3), 6, stride=2, padding=1, groups=2)
convolution("dilated convolution", F.conv2d, image, normal(6, 4, 3, 2), 6, dilation=2)
convolution("transposed convolution", F.conv_transpose2d, image, normal(4, 3, 3, 3), 3, stride=2, padding=1, output_padding=1)
convolution("convolution of lines", F.conv1d, image[0], normal(6, 9, 3), 6, padding=1)
convolution("convolution of volumes", F.conv3d, normal(1, 2, 5, 5, 5), normal(3, 2, 3, 3, 3), 3)


def gradient(a, b):
    a.requires_grad_()
    ((a @ b.t()).tanh() ** 2).mean().backward()
    return a.grad


same("gradient", gradient, x, y, tolerance=1e-4)
torch.manual_seed(3)
first = torch.randn(1000, device="cuda")
second = torch.randn(1000, device="cuda")
torch.manual_seed(3)
assert (first == torch.randn(1000, device="cuda")).all()
assert abs(first.mean().item()) < 0.1 and abs(first.std().item() - 1) < 0.1 and not (first == second).any()
assert str(torch.ones(3, device="cuda")) == "tensor([1., 1., 1.], device='cuda:0')"
