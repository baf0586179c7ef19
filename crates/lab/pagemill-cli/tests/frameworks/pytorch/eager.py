"""Operations without `torch.compile`."""

import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F
from beside_cpu import normal, same, whole
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.profiler import profile

x, y = normal(33, 17), normal(33, 17, seed=8)
for name in "exp sin tanh sigmoid abs floor neg erf square".split():
    same(name, getattr(torch, name), x)
for name in "add sub mul div maximum atan2 gt eq".split():
    same(name, getattr(torch, name), x, y)
same("scalars", lambda a: a * 2 + 1, x)
same(
    "scalars of other types",
    lambda a: [a * 2.5, a // 2, a / 3, a == 2, a.float() ** 0.5, a[0, 0].float() * 0.1],
    whole(1, 9, 5, 4),
)
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


def by_name(backend, q):
    with sdpa_kernel(backend if q.is_cuda else SDPBackend.MATH):
        return F.scaled_dot_product_attention(q, q, q, is_causal=True)


def sequence_loss(a):
    said = torch.tensor([[1, 2, 3], [4, 4, 5]], device=a.device)
    loss = F.ctc_loss(a.requires_grad_().log_softmax(-1), said, torch.tensor([11, 11]), torch.tensor([3, 3]))
    loss.backward()
    return [loss.detach(), a.grad]


with warnings.catch_warnings():
    warnings.simplefilter("ignore")

    @torch.jit.script
    def scripted(a):
        return a.sin() * 2 + a.relu()


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


def layer(make):
    """A layer's result for the first input, and the gradients of its weights."""

    def with_gradients(*given):
        torch.manual_seed(1)
        made = make().to(given[0].device)
        result = made(*given)
        result = result[0] if isinstance(result, tuple) else result
        result.square().mean().backward()
        return [result.detach(), *(weight.grad for weight in made.parameters())]

    return with_gradients


same("gated recurrent cells", layer(lambda: nn.LSTM(8, 6, 2)), normal(5, 3, 8), tolerance=1e-4)
same("recurrent cells", layer(lambda: nn.GRU(8, 6, bidirectional=True)), normal(5, 3, 8), tolerance=1e-4)
same("heads", lambda a: layer(lambda: nn.MultiheadAttention(16, 4))(a, a, a), normal(5, 2, 16), tolerance=1e-4)
same("batch norm", layer(lambda: nn.BatchNorm2d(4)), image, tolerance=1e-4)
same("bags", layer(lambda: nn.EmbeddingBag(33, 8)), whole(0, 33, 4, 6), tolerance=1e-4)
same(
    "pools", lambda a: [F.max_pool2d(a, 2), F.adaptive_avg_pool2d(a, 3), F.interpolate(a, scale_factor=2, mode="bilinear")], image
)
same("attention by name", lambda q: by_name(SDPBackend.FLASH_ATTENTION, q), normal(2, 4, 16, 8), tolerance=1e-4)
same("remainders", lambda a: [a % 7, torch.remainder(a, 2), a.take_along_dim(a % 7, 1)], whole(0, 99, 5, 7))
same("running maximum", lambda a: list(a.cummax(1)), x)
same("least squares", lambda a, b: torch.linalg.lstsq(a, b).solution, normal(9, 4), normal(9, 2), tolerance=1e-3)
same("singular values", lambda a: [part.abs() for part in torch.linalg.svd(a)], x[:5, :5], tolerance=1e-3)
same("waves", lambda a: [torch.fft.rfft(a).abs(), torch.fft.ifft(torch.fft.fft(a)).real], x, tolerance=1e-4)
same("sequence loss", sequence_loss, normal(11, 2, 17), tolerance=1e-4)
same("sparse", lambda a: [a.relu().to_sparse() @ a.t(), (a.relu().to_sparse_csr() @ a.t()).relu()], x, tolerance=1e-4)
same("script", lambda a: [scripted(a) for _ in range(3)], x)


def stored(a, whole_numbers, at):
    """Stores and sums at indices, some of them with 64 bits."""
    a[at] = 7.0
    a.index_put_((at, at % 17), a[at, 0] + 1, accumulate=True)
    a[a > 0] *= 2
    ones = torch.ones_like(whole_numbers)
    return [a, whole_numbers.scatter_add(0, at[:5, None] % 5, ones), whole_numbers.scatter(0, at[:5, None] % 5, 2 * ones)]


def resized(a):
    """Each way to make an image larger, and its gradient."""
    ways = ("bilinear", "bicubic", "nearest-exact", "area")
    return [part for way in ways for part in convolved(F.interpolate, size=(11, 6), mode=way)(a.detach().clone())]


def nested(a):
    """Sequences of two lengths."""
    made = [torch.nested.nested_tensor([a[:2], a[:5]], layout=layout) for layout in (torch.jagged, torch.strided)]
    return [torch.nested.to_padded_tensor(2 * each, 0.0) for each in made]


z = torch.complex(x, y)
same("indices", stored, x, whole(0, 50, 5, 7), whole(0, 33, 9), tolerance=1e-4)
same("resized", resized, image, tolerance=1e-4)
same("complex", lambda a: [a * a.conj(), a.conj().clone(), a.mH @ a, a.conj().imag + 1, a.real.to(a.dtype)], z, tolerance=1e-4)
same(
    "narrow floats", lambda a: [a.to(kind).float() for kind in (torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz)], x
)
same("nested", nested, x)
same("quantized", lambda a: torch.quantize_per_tensor(a, 0.1, 0, torch.qint8).dequantize(), x)
same("weight norm", layer(lambda: nn.utils.parametrizations.weight_norm(nn.Linear(17, 5))), x, tolerance=1e-4)
same("transforms", lambda a: torch.func.vmap(torch.func.grad(lambda row: row.sin().prod()))(a), x, tolerance=1e-4)
with profile() as seen:
    same("profiled", torch.sin, x)
assert "sin" in seen.key_averages().table()
for wrong in (
    lambda: x.cuda() @ x.cuda(),
    lambda: torch.cat([x.cuda(), y[:, :2].cuda()]),
    lambda: x.cuda() + y[:, :3].cuda(),
    lambda: x.cuda() + y,
):
    try:
        wrong()
    except RuntimeError:
        continue
    raise AssertionError("shapes or devices that do not fit")
try:
    torch.empty(1 << 50, device="cuda")
except torch.cuda.OutOfMemoryError:
    pass
kept = F.dropout(torch.ones(1000, device="cuda"), 0.5)
assert set(kept.tolist()) == {0.0, 2.0}
torch.manual_seed(3)
first = torch.randn(1000, device="cuda")
second = torch.randn(1000, device="cuda")
torch.manual_seed(3)
assert (first == torch.randn(1000, device="cuda")).all()
assert abs(first.mean().item()) < 0.1 and abs(first.std().item() - 1) < 0.1 and not (first == second).any()
assert str(torch.ones(3, device="cuda")) == "tensor([1., 1., 1.], device='cuda:0')"
