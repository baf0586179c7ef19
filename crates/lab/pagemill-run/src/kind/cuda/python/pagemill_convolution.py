"""Convolutions and their gradients as gathers and matrix products, for Inductor.

Its own templates, which stay where they apply, have no gradients, and no dilated, transposed or one-dimensional convolutions.
"""

import torch

aten = torch.ops.aten


def install(decompositions):
    decompositions[aten.convolution.default] = convolution
    others = decompositions[aten.convolution_backward.default]

    def backward(gradient, *rest):
        return convolution_backward(gradient, *rest) if is_ours(gradient) else others(gradient, *rest)

    decompositions[aten.convolution_backward.default] = backward


def is_ours(tensor):
    return tensor.is_cuda and tensor.is_floating_point()


def convolution(images, weights, bias, stride, padding, dilation, transposed, output_padding, groups):
    dimensions = weights.dim() - 2
    has_template = dimensions in (2, 3) and not transposed and all(step == 1 for step in dilation)
    if not is_ours(images) or has_template:
        return NotImplemented
    window = Window(weights.shape[2:], stride, padding, dilation, groups)
    if transposed:
        result = window.spread(images, weights, window.wide_sizes(images.shape[2:], output_padding))
    else:
        result = window.collect(images, weights, window.narrow_sizes(images.shape[2:]))
    result = result if bias is None else result + bias.view(-1, *[1] * dimensions)
    return result.contiguous(memory_format=torch._prims_common.suggest_memory_format(images))


def convolution_backward(gradient, images, weights, _, stride, padding, dilation, transposed, output_padding, groups, wanted):
    window = Window(weights.shape[2:], stride, padding, dilation, groups)
    of_images = of_weights = of_bias = None
    if wanted[0]:
        way = window.collect if transposed else window.spread
        of_images = way(gradient, weights, images.shape[2:])
        of_images = of_images.contiguous(memory_format=torch._prims_common.suggest_memory_format(images))
    if wanted[1]:
        wide, narrow = (gradient, images) if transposed else (images, gradient)
        of_weights = window.correlate(wide, narrow).reshape(weights.shape)
    if wanted[2]:
        of_bias = gradient.sum([0, *range(2, gradient.dim())])
    return of_images, of_weights, of_bias


class Window:
    """The places of a wide image that each place of a narrow one sees: `taps` in each dimension."""

    def __init__(self, taps, stride, padding, dilation, groups):
        self.taps, self.groups = list(taps), groups
        self.steps = [list(each) * (len(taps) if len(each) == 1 else 1) for each in (stride, padding, dilation)]

    def by_dimension(self, *more):
        return zip(self.taps, *self.steps, *more)

    def narrow_sizes(self, wide):
        return [
            (size + 2 * padding - dilation * (taps - 1) - 1) // stride + 1
            for taps, stride, padding, dilation, size in self.by_dimension(wide)
        ]

    def wide_sizes(self, narrow, more):
        more = list(more) * (len(self.taps) if len(more) == 1 else 1)
        return [
            (size - 1) * stride - 2 * padding + dilation * (taps - 1) + 1 + extra
            for taps, stride, padding, dilation, size, extra in self.by_dimension(narrow, more)
        ]

    def collect(self, wide, weights, sizes):
        """The narrow image of a wide one: weights have a channel of it in each row."""
        by_group = weights.reshape(self.groups, weights.shape[0] // self.groups, -1)
        return self.image(torch.bmm(by_group, self.seen(wide, sizes)), wide.shape[0], sizes)

    def spread(self, narrow, weights, sizes):
        """What each place of a wide image gets of the narrow places that see it."""
        by_group = weights.reshape(self.groups, weights.shape[0] // self.groups, weights.shape[1], -1)
        by_group = by_group.transpose(1, 2).flatten(2)
        return self.image(torch.bmm(by_group, self.seers(narrow, sizes)), narrow.shape[0], sizes)

    def correlate(self, wide, narrow):
        """For each weight, what its two places have in common."""
        seen = self.seen(wide, narrow.shape[2:])
        narrow = narrow.transpose(0, 1).reshape(self.groups, -1, seen.shape[2])
        return torch.bmm(narrow, seen.transpose(1, 2))

    def image(self, product, batch, sizes):
        return product.reshape(-1, batch, *sizes).transpose(0, 1)

    def seen(self, wide, sizes):
        places = []
        for taps, stride, padding, dilation, big, small in self.by_dimension(wide.shape[2:], sizes):
            tap, place = grid(taps, small, wide.device)
            at = place * stride - padding + tap * dilation
            places.append((at, (at >= 0) & (at < big)))
        return self.columns(wide, places)

    def seers(self, narrow, sizes):
        places = []
        for taps, stride, padding, dilation, small, big in self.by_dimension(narrow.shape[2:], sizes):
            tap, place = grid(taps, big, narrow.device)
            reach = place + padding - tap * dilation
            at = reach // stride
            places.append((at, (reach >= 0) & (reach % stride == 0) & (at < small)))
        return self.columns(narrow, places)

    def columns(self, image, places):
        """By group: a row for each channel and tap, a column for each place of each image of the batch."""
        dimensions = len(places)
        indices, inside = [], True
        for dimension, ((at, is_in), size) in enumerate(zip(places, image.shape[2:])):
            shape = [1] * (2 * dimensions)
            shape[dimension], shape[dimensions + dimension] = at.shape
            indices.append(at.clamp(0, size - 1).view(shape))
            inside = is_in.view(shape) & inside
        image = image.unflatten(1, (self.groups, -1))
        taken = torch.where(inside, aten._unsafe_index(image, [None, None, None, *indices]), 0)
        taps = range(3, 3 + dimensions)
        taken = taken.permute(1, 2, *taps, 0, *range(3 + dimensions, 3 + 2 * dimensions))
        return taken.flatten(1, 1 + dimensions).flatten(2)


def grid(taps, places, device):
    return torch.arange(taps, device=device)[:, None], torch.arange(places, device=device)[None]
