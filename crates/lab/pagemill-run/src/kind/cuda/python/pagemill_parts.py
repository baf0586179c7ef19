"""What operations of PyTorch consist of that Inductor has no kernel for: other operations."""

import functools
import itertools

import torch


def operation(name):
    base, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, base), overload or "default")


def norms(tensors, order=2, dtype=None):
    return [torch.linalg.vector_norm(tensor, order, dtype=dtype) for tensor in tensors]


def unscale(tensors, found, inverse):
    for tensor in tensors:
        found.copy_(torch.maximum(found, tensor.isfinite().logical_not().any().to(found.dtype)))
        tensor.mul_(inverse)


def update_scale(scale, steps, found, growth, backoff, interval):
    grows = steps + 1 == interval
    grown = torch.where(grows & (scale * growth).isfinite(), scale * growth, scale)
    scale.copy_(torch.where(found != 0, scale * backoff, grown))
    steps.copy_(torch.where(grows | (found != 0), 0, steps + 1))


def lstm_cell(of_inputs, of_hidden, cell, *biases):
    gates = sum((bias for bias in biases if bias is not None), of_inputs + of_hidden)
    into, forget, new, out = gates.chunk(4, 1)
    into, forget, new, out = into.sigmoid(), forget.sigmoid(), new.tanh(), out.sigmoid()
    cell = forget * cell + into * new
    return out * cell.tanh(), cell, torch.cat((into, forget, new, out), 1)


def lstm_cell_backward(of_hidden, of_cell, before, after, gates, has_bias):
    into, forget, new, out = gates.chunk(4, 1)
    bounded = after.tanh()
    of_hidden = torch.zeros_like(after) if of_hidden is None else of_hidden
    through = of_hidden * out * (1 - bounded * bounded)
    of_cell = through if of_cell is None else of_cell + through
    of_gates = torch.cat(
        (
            of_cell * new * into * (1 - into),
            of_cell * before * forget * (1 - forget),
            of_cell * into * (1 - new * new),
            of_hidden * bounded * out * (1 - out),
        ),
        1,
    )
    return of_gates, of_cell * forget, of_gates.sum(0) if has_bias else None


def gru_cell(of_inputs, of_hidden, hidden, input_bias=None, hidden_bias=None):
    of_inputs = of_inputs if input_bias is None else of_inputs + input_bias
    of_hidden = of_hidden if hidden_bias is None else of_hidden + hidden_bias
    (reset, keep, new), (hidden_reset, hidden_keep, hidden_new) = of_inputs.chunk(3, 1), of_hidden.chunk(3, 1)
    reset, keep = (reset + hidden_reset).sigmoid(), (keep + hidden_keep).sigmoid()
    new = (new + reset * hidden_new).tanh()
    return new + keep * (hidden - new), torch.cat((reset, keep, new, hidden, hidden_new), 1)


def gru_cell_backward(of_result, kept, has_bias):
    reset, keep, new, hidden, hidden_new = kept.chunk(5, 1)
    of_keep = of_result * (hidden - new) * keep * (1 - keep)
    of_new = of_result * (1 - keep) * (1 - new * new)
    of_reset = of_new * hidden_new * reset * (1 - reset)
    of_inputs = torch.cat((of_reset, of_keep, of_new), 1)
    of_hidden = torch.cat((of_reset, of_keep, of_new * reset), 1)
    of_biases = (of_inputs.sum(0), of_hidden.sum(0)) if has_bias else (None, None)
    return of_inputs, of_hidden, of_result * keep, *of_biases


def fused_adam(*tensors, lr, grad_scale=None, found_inf=None, has_own_decay=False, **how):
    from torch.optim.adam import adam

    *written, steps = tensors
    written = [written[0], *written[2:]]
    kept = [[tensor.clone() for tensor in each] for each in written] if found_inf is not None else []
    gradients = tensors[1] if grad_scale is None else [gradient / grad_scale for gradient in tensors[1]]
    # It counts the step, as its caller has.
    before = [step - 1 for step in steps]
    own = dict(foreach=True, capturable=True, decoupled_weight_decay=has_own_decay)
    adam(tensors[0], gradients, *tensors[2:-1], before, lr=lr, **own, **how)
    for into, old in zip(itertools.chain(*written), itertools.chain(*kept)):
        into.copy_(torch.where(found_inf != 0, old, into))


def weight_norm_backward(gradient, weights, lengths, norms, dim):
    others = [each for each in range(weights.dim()) if each != dim]
    along = (gradient * weights).sum(others, keepdim=True) / norms
    of_weights = lengths / norms * (gradient - weights * along / norms)
    return of_weights.to(weights.dtype), along.to(lengths.dtype)


def index_put(into, indices, values, accumulate=False, unsafe=False):
    return torch.ops.aten.index_put_(into, indices, values, accumulate)


def by_channel(values, like):
    return None if values is None else values.view(-1, *[1] * (like.dim() - 2))


def without_channel(values):
    return [0, *range(2, values.dim())]


def norm_stats(values, eps):
    variance, mean = torch.var_mean(values.float(), without_channel(values), correction=0)
    return mean, (variance + eps).rsqrt()


def norm_of_all(_, means, inverses, running_mean, running_variance, momentum, eps, counts):
    """Of processes, each of which has a row."""
    total = counts.sum()
    shares = (counts / total)[:, None]
    mean = (means * shares).sum(0)
    variance = ((inverses**-2 - eps + (means - mean) ** 2) * shares).sum(0)
    if running_mean is not None:
        running_mean.lerp_(mean.to(running_mean.dtype), momentum)
        running_variance.lerp_((variance * total / (total - 1)).to(running_variance.dtype), momentum)
    return mean, (variance + eps).rsqrt()


def norm_values(values, weight, bias, mean, inverse, eps):
    mean, inverse, weight, bias = (by_channel(each, values) for each in (mean, inverse, weight, bias))
    result = (values - mean) * inverse * (1 if weight is None else weight)
    return (result if bias is None else result + bias).to(values.dtype)


def norm_backward_sums(gradient, values, mean, inverse, weight, *wanted):
    dims = without_channel(values)
    of_bias = gradient.float().sum(dims)
    along = (gradient * (values - by_channel(mean, values))).float().sum(dims)
    return of_bias, along, along * inverse, of_bias


def norm_backward_values(gradient, values, mean, inverse, weight, of_bias, along, counts):
    total = counts.sum()
    parts = (mean, inverse, weight, of_bias / total, along / total * inverse**2)
    mean, inverse, weight, of_bias, along = (by_channel(each, values) for each in parts)
    result = (gradient - of_bias - (values - mean) * along) * inverse * (1 if weight is None else weight)
    return result.to(values.dtype)


def gradient_of(forward, values, gradient):
    # The thread that PyTorch has for the GPU's gradients may wait for this one.
    with torch.autograd.set_multithreading_enabled(False):
        return torch.func.vjp(forward, values)[1](gradient)[0]


def made_of(name):
    from torch._decomp import decomposition_table

    return decomposition_table[operation(name)]


def upsample_backward(name, gradient, size, before, *rest):
    return gradient_of(lambda values: made_of(name)(values, size, *rest), gradient.new_zeros(before), gradient)


def adaptive_pool_backward(gradient, values):
    return gradient_of(lambda values: made_of("_adaptive_avg_pool2d")(values, gradient.shape[-2:]), values, gradient)


UPSAMPLINGS = """upsample_linear1d upsample_bilinear2d upsample_bicubic2d upsample_trilinear3d upsample_nearest1d upsample_nearest3d
    _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d""".split()
# What operations consist of that Inductor does not know.
PARTS = {
    "_foreach_norm": norms,
    "_amp_foreach_non_finite_check_and_unscale": unscale,
    "_amp_update_scale": update_scale,
    "_fused_adam": fused_adam,
    "_fused_adamw": functools.partial(fused_adam, has_own_decay=True),
    "_thnn_fused_lstm_cell": lstm_cell,
    "_thnn_fused_lstm_cell_backward_impl": lstm_cell_backward,
    "_thnn_fused_gru_cell": gru_cell,
    "_thnn_fused_gru_cell_backward": gru_cell_backward,
    "_index_put_impl": index_put,
    "batch_norm_stats": norm_stats,
    "batch_norm_gather_stats_with_counts": norm_of_all,
    "batch_norm_elemt": norm_values,
    "batch_norm_backward_reduce": norm_backward_sums,
    "batch_norm_backward_elemt": norm_backward_values,
    "_adaptive_avg_pool2d_backward": adaptive_pool_backward,
    "_weight_norm_interface_backward": weight_norm_backward,
    **{f"{name}_backward": functools.partial(upsample_backward, name) for name in UPSAMPLINGS},
}
