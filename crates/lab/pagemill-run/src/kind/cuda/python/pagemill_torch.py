"""Operations of PyTorch on CUDA tensors as kernels of Inductor, whose PTX pagemill executes: the wheel has them as machine code.

Each operation is compiled once for each kind of its arguments, in front of the wheel's own for the key CUDA of the dispatcher.
"""

import functools
import itertools
import logging
import os
import sys
import threading
import warnings

import torch
from pagemill_parts import PARTS, operation
from torch.utils import _pytree as pytree

# They launch nothing: memory, views, what tensors are.
KEPT = set(
    """_efficientzerotensor _local_scalar_dense _nested_compute_contiguous_strides_offsets _nested_view_from_buffer _reshape_alias
    _use_cudnn_ctc_loss _use_miopen_ctc_loss as_strided empty empty_strided is_set_to record_stream resize_ set_ unfold view
    view_as_complex view_as_real""".split()
)
# What the CPU does: random numbers, and what has a size or an end that depends on values.
ON_CPU = set(
    """_assert_async _sample_dirichlet _standard_gamma _unique _unique2 bernoulli bernoulli_ binomial bincount cauchy_
    exponential_ geometric_ log_normal_ masked_select multinomial nonzero normal normal_ poisson random_ randperm
    unique_consecutive unique_dim unique_dim_consecutive uniform_""".split()
)
# Made of other operations in the wheel, some of which are machine code of cuDNN's.
WHOLE = ["convolution", "copy_"]

# Of sparse tensors, whose other operations the CPU does: what they are made of.
KEPT_OF_SPARSE = set(
    """_coalesced_ _dimI _dimV _indices _nnz _sparse_broadcast_to _sparse_coo_tensor_with_dims
    _sparse_coo_tensor_with_dims_and_tensors _values ccol_indices clone col_indices copy_ copy_sparse_to_sparse_ crow_indices
    dense_dim empty empty_like indices is_coalesced permute resize_ resize_as_sparse_ row_indices sparse_dim sparse_resize_
    sparse_resize_and_clear_ unsqueeze values""".split()
)
# Of quantized tensors likewise.
KEPT_OF_QUANTIZED = set(
    """_empty_affine_quantized _empty_per_channel_affine_quantized _reshape_alias as_strided clone empty empty_like empty_quantized
    empty_strided q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qscheme set_ squeeze
    unfold unsqueeze view""".split()
)
# Of nested tensors what the wheel does not make of operations with their values.
ON_CPU_OF_NESTED = set(
    """_native_multi_head_attention _nested_from_padded_and_nested_example _nested_tensor_softmax_with_shape _safe_softmax _softmax
    _softmax_backward_data _transform_bias_rescale_qkv _transformer_encoder_layer_fwd add.Tensor all bmm cat div.Tensor
    linear_backward masked_fill matmul matmul_backward mul.Tensor native_layer_norm native_layer_norm_backward sub.Tensor to_padded_tensor
    value_selecting_reduction_backward where""".split()
)

KEYS = ("CUDA", "SparseCUDA", "SparseCsrCUDA", "QuantizedCUDA", "NestedTensorCUDA")
LIBRARIES = {key: torch.library.Library("aten", "IMPL", key) for key in KEYS}
VERBOSE = bool(os.environ.get("PAGEMILL_TORCH_VERBOSE"))


def install():
    # Attention and layers as PyTorch composes them: their fused kernels are machine code.
    for way in ("flash", "mem_efficient", "cudnn", "math"):
        setting = f"_set_sdp_use_{way}"
        getattr(torch._C, setting)(way == "math")
        # Programs that ask for one of them by name get the same.
        setattr(torch._C, setting, lambda enabled: None)
    torch.backends.cudnn.enabled = False
    # The compiler of scripts and the profiler want NVIDIA's libraries, which want its driver.
    torch._C._jit_override_can_fuse_on_gpu(False)
    for name in ("_prepare_profiler", "_enable_profiler"):
        setattr(torch.autograd.profiler, name, without_cupti(getattr(torch.autograd.profiler, name)))
    own = {made.__name__: made for made in (Copy(torch.library.get_kernel("aten::copy_", "CUDA")), Dropout())}
    with warnings.catch_warnings():
        # That it stands before the wheel's is meant.
        warnings.simplefilter("ignore")
        for name in itertools.chain(names_of("CUDA"), WHOLE):
            base = name.partition(".")[0]
            if base in KEPT:
                continue
            made = own[name] if name in own else OnCpu(name) if base in ON_CPU else Compiled(name)
            LIBRARIES["CUDA"].impl(name, made, "CUDA")
        for key in KEYS[1:]:
            for name in names_of(key):
                if is_on_cpu(key, name):
                    LIBRARIES[key].impl(name, OnCpu(name), key)


def names_of(key):
    prefix = "aten::"
    names = torch._C._dispatch_get_registrations_for_dispatch_key(key)
    return [name.removeprefix(prefix) for name in names if name.startswith(prefix)]


def is_on_cpu(key, name):
    base = name.partition(".")[0]
    if key == "NestedTensorCUDA":
        return name in ON_CPU_OF_NESTED or base in ON_CPU_OF_NESTED
    return base not in (KEPT_OF_QUANTIZED if key == "QuantizedCUDA" else KEPT_OF_SPARSE)


def without_cupti(function):
    of_gpu = torch.profiler.ProfilerActivity.CUDA

    def on_cpu(config, activities, *rest, **named):
        if of_gpu in activities:
            say_once("torch.profiler has no times of the GPU: pagemill's table has a row for each kernel")
        others = {each for each in activities if each != of_gpu} or {torch.profiler.ProfilerActivity.CPU}
        return function(config, others, *rest, **named)

    return on_cpu


def call(operation, args, kwargs):
    """The operation, or an overload for numbers where PyTorch has made one of a tensor."""
    takes_tensors = (str(argument.type) == "Tensor" for argument in operation._schema.arguments)
    has_number = any(takes and isinstance(arg, (int, float, complex)) for arg, takes in zip(args, takes_tensors))
    return (operation.overloadpacket if has_number else operation)(*args, **kwargs)


def writes(argument):
    return argument.alias_info is not None and argument.alias_info.is_write


class Running(threading.local):
    """The operations that run in this thread."""

    def __init__(self):
        self.operations = []
        self.compiles = False


RUNNING = Running()
COMPILES = threading.Lock()


class Compiled:
    """An operation that Inductor compiles, once for each kind of arguments; what it has no kernel for, the CPU does."""

    def __init__(self, name):
        self.__name__ = name
        self.operation = operation(name)
        self.on_cpu = OnCpu(name)
        self.part = PARTS.get(name.partition(".")[0].removesuffix("_"))
        self.programs, self.shapes, self.layouts = {}, {}, {}
        schema = self.operation._schema
        self.outs = [each.name for each in schema.arguments if each.is_out and str(each.type) == "Tensor"]
        self.written = [(place, argument.name) for place, argument in enumerate(schema.arguments) if writes(argument)]
        self.is_single = [str(result.type) for result in schema.returns] == ["Tensor"]
        self.is_list = [str(result.type) for result in schema.returns] == ["List[Tensor]"]
        self.takes_tensors = [str(argument.type) == "Tensor" for argument in schema.arguments]
        # A number for each of several tensors.
        self.takes_numbers = name.startswith("_foreach_") and name.endswith(".ScalarList")

    def __call__(self, *args, **kwargs):
        if self in RUNNING.operations:
            # Inductor left it to PyTorch.
            return self.on_cpu(*args, **kwargs)
        # A schedule changes the rate from step to step.
        has_rate = self.part is not None and isinstance(kwargs.get("lr"), float)
        named = {**kwargs, "lr": in_tensor(kwargs["lr"])} if has_rate else kwargs
        arguments = Arguments(self.without_numbers(args), named)
        if any(kwargs[name].numel() == 0 for name in self.outs):
            try:
                arguments = self.resize_outs(arguments, args, kwargs)
            except Exception:
                # Sizes that depend on values, or arguments that do not fit, of which the CPU says so.
                return self.on_cpu(*args, **kwargs)
        program = self.programs.get(arguments.key)
        if program is None and RUNNING.compiles:
            # What compiles wants a value.
            return self.on_cpu.run(*args, **kwargs)
        if program is None:
            with COMPILES:
                program = self.programs.get(arguments.key) or self.compile(arguments)
                self.programs[arguments.key] = program
        if program == self.on_cpu.run:
            results = self.on_cpu(*args, **kwargs)
            return results if self.written else self.laid_out(results, arguments)
        RUNNING.operations.append(self)
        try:
            results = program(list(arguments.tensors))
        finally:
            RUNNING.operations.pop()
        if self.written:
            given = [kwargs[name] if name in kwargs else args[place] for place, name in self.written]
            returned = given[: len(self.operation._schema.returns)]
            return returned[0] if len(returned) == 1 else tuple(returned) or None
        return results[0] if self.is_single else list(results) if self.is_list else tuple(results)

    def without_numbers(self, args):
        """Numbers that may change from step to step in tensors, where that changes no type of a result."""
        own = args[0] if self.takes_numbers else [arg for arg in args if isinstance(arg, torch.Tensor)]
        if not all(tensor.dtype in (torch.float32, torch.float64) and tensor.dim() for tensor in own):
            return args
        if self.takes_numbers:
            return (*args[:-1], [in_tensor(number) for number in args[-1]])
        takes = zip(args, self.takes_tensors)
        return tuple(in_tensor(arg) if takes_tensor and isinstance(arg, float) else arg for arg, takes_tensor in takes)

    def resize_outs(self, arguments, args, kwargs):
        shapes = self.shapes.get(arguments.key)
        if shapes is None:
            shapes = self.shapes[arguments.key] = apart(lambda: self.shapes_of_outs(arguments))
        for name, shape in zip(self.outs, shapes):
            kwargs[name].resize_(shape)
        return Arguments(self.without_numbers(args), kwargs)

    def shapes_of_outs(self, arguments):
        with torch.no_grad(), torch._subclasses.FakeTensorMode():
            args, kwargs = arguments.with_tensors(arguments.examples())
            call(self.operation, args, kwargs)
            return [kwargs[name].shape for name in self.outs]

    def laid_out(self, results, arguments):
        """Results in the order in memory that Inductor expects of the wheel's: the CPU's may have another."""
        if arguments.key not in self.layouts:
            # What PyTorch knows no layout for, it asks the operation.
            self.layouts[arguments.key] = []
            self.layouts[arguments.key] = apart(lambda: self.layouts_of_results(arguments))
        leaves, structure = pytree.tree_flatten(results)
        for place, (shape, strides) in enumerate(self.layouts[arguments.key]):
            leaf = leaves[place]
            if leaf.shape == shape and leaf.stride() != strides:
                leaves[place] = leaf.new_empty_strided(shape, strides).copy_(leaf)
        return pytree.tree_unflatten(leaves, structure)

    def layouts_of_results(self, arguments):
        with torch.no_grad(), torch._subclasses.FakeTensorMode():
            args, kwargs = arguments.with_tensors(arguments.examples())
            try:
                results = pytree.tree_leaves(call(self.operation, args, kwargs))
                return [(result.shape, result.stride()) for result in results]
            except Exception as error:
                refuse_devices(self.__name__, error)
                # It depends on values, or is of another kind: the CPU's will do.
                return []

    def compile(self, arguments):
        if VERBOSE:
            shapes = ", ".join(str(tuple(tensor.shape)) for tensor in arguments.tensors[:4])
            say(f"compiles torch.{self.__name__} of {len(arguments.tensors)} tensors: {shapes}")
        try:
            return apart(lambda: self.compile_here(arguments))
        except Exception as error:
            refuse_devices(self.__name__, error)
            # What else is wrong with the arguments, the CPU says.
            if VERBOSE:
                say(f"cannot compile torch.{self.__name__}: {error!r}")
            return self.on_cpu.run

    def compile_here(self, arguments):
        from torch._decomp import decomposition_table
        from torch._inductor.compile_fx import compile_fx_inner
        from torch._inductor.decomposition import select_decomp_table
        from torch._inductor.lowering import lowerings
        from torch.fx.experimental.proxy_tensor import make_fx
        from torch.fx.experimental.symbolic_shapes import ShapeEnv

        decompositions, lowered = dict(select_decomp_table()), lowerings.get(self.operation)
        is_left = getattr(lowered, "_is_fallback_handler", False)
        if (lowered is None or is_left) and self.operation in decomposition_table:
            decompositions.setdefault(self.operation, decomposition_table[self.operation])
        elif self.part is None and is_left:
            # Inductor would call the wheel's, and expect its layout of the results.
            return self.on_cpu.run

        def traced(*tensors):
            args, kwargs = arguments.with_tensors(tensors)
            results = self.call_as_kernel(args, kwargs)
            return () if self.written else (results,) if self.is_single else tuple(results)

        mode = torch._subclasses.FakeTensorMode(shape_env=ShapeEnv())
        with torch.no_grad(), torch._guards.tracing(torch._guards.TracingContext(mode)):
            with mode:
                examples = arguments.examples()
                functional = torch.func.functionalize(traced, remove="mutations_and_views")
                module = make_fx(functional, decomposition_table=decompositions)(*examples)
            for node in module.graph.nodes:
                # Kernels are named after it.
                node.meta.setdefault("original_aten", self.operation)
            return compile_fx_inner(module, examples, is_inference=True, cudagraphs=False)

    def call_as_kernel(self, args, kwargs):
        """The operation, or what it consists of where Inductor knows that only."""
        if self.part is not None:
            return self.part(*args, **kwargs)
        if not self.takes_numbers:
            return call(self.operation, args, kwargs)
        name = self.__name__.partition(".")[0]
        if name.startswith("_foreach_addc"):
            base, left, right, numbers = args
            both = torch._foreach_div(left, right) if "addcdiv" in name else torch._foreach_mul(left, right)
            results = torch._foreach_add(base, torch._foreach_mul(both, numbers))
        else:
            results = getattr(torch.ops.aten, name.removesuffix("_")).List(*args, **kwargs)
        if self.written:
            for tensor, result in zip(args[0], results):
                tensor.copy_(result)
        return results


class Arguments:
    """Arguments of an operation: their tensors, and the kind that they are of."""

    def __init__(self, args, kwargs):
        leaves, self.structure = pytree.tree_flatten((args, dict(kwargs)))
        self.leaves = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        self.places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
        self.tensors = [leaves[place] for place in self.places]
        # 0 and -0 are equal, and nan is equal to nothing.
        kinds = tuple((type(leaf), repr(leaf) if isinstance(leaf, (float, complex)) else leaf) for leaf in self.leaves)
        self.key = (str(self.structure), kinds, tuple(kind_of(tensor) for tensor in self.tensors))

    def with_tensors(self, tensors):
        leaves = list(self.leaves)
        for place, tensor in zip(self.places, tensors):
            leaves[place] = tensor
        args, kwargs = pytree.tree_unflatten(leaves, self.structure)
        return args, dict(kwargs)

    def examples(self):
        return [example_of(tensor) for tensor in self.tensors]


def refuse_devices(name, error):
    """The CPU would take arguments of both devices."""
    if "same device" in str(error):
        raise RuntimeError(f"torch.{name}: {error}") from error


def in_tensor(number):
    return torch.tensor(number, dtype=torch.float64, device="cpu")


def alignment_of(tensor):
    """Elements that it stands behind an address that vector loads can begin at."""
    return tensor.storage_offset() * tensor.itemsize % 16 // tensor.itemsize


def kind_of(tensor):
    shape = (tensor.dtype, tensor.device, tuple(tensor.shape), tensor.stride(), alignment_of(tensor))
    return (*shape, tensor.is_conj(), tensor.is_neg())


def example_of(tensor):
    """A tensor of the same kind, under a mode in which it has no memory."""
    reach = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride())) if tensor.numel() else -1
    memory = torch.empty(reach + 1 + alignment_of(tensor), dtype=tensor.dtype, device=tensor.device)
    example = memory.as_strided(tensor.shape, tensor.stride(), alignment_of(tensor))
    example = example.conj() if tensor.is_conj() else example
    return torch._neg_view(example) if tensor.is_neg() else example


def apart(work):
    """The result of `work` in a thread of its own, where no mode and no setting of the program's is in force."""
    outcome = []
    log = logging.getLogger("torch._subclasses.fake_tensor")

    def run():
        RUNNING.compiles = log.disabled = True
        try:
            outcome.extend((work(), None))
        except BaseException as error:
            outcome.extend((None, error))
        log.disabled = False

    thread = threading.Thread(target=run, name="pagemill: compiles an operation")
    thread.start()
    thread.join()
    result, error = outcome
    if error is not None:
        raise error
    return result


class OnCpu:
    """An operation that the CPU does with copies of its tensors: no time is simulated for it."""

    def __init__(self, name):
        self.__name__ = name
        self.operation = operation(name)
        arguments = self.operation._schema.arguments
        self.written = [(place, argument.name) for place, argument in enumerate(arguments) if writes(argument)]
        self.draws = any(argument.name == "generator" for argument in arguments) or self.__name__.startswith("random_")

    def __call__(self, *args, **kwargs):
        results = self.run(*args, **kwargs)
        if not self.draws:
            say_once(f"torch.{self.__name__} has no kernel of PTX: the CPU does it, and its time is not simulated")
        return results

    def run(self, *args, **kwargs):
        devices, pairs = [], []

        def to_cpu(value):
            if isinstance(value, torch.Tensor) and value.is_cuda:
                devices.append(value.device)
                own = value.detach()
                pairs.append((value, (own.contiguous() if own.is_nested else own).cpu()))
                return pairs[-1][1]
            if isinstance(value, torch.device):
                devices.append(value)
                return torch.device("cpu")
            return cpu_generator(value) if isinstance(value, torch.Generator) else value

        def to_gpu(value):
            if not isinstance(value, torch.Tensor):
                return value
            own = [on_gpu for on_gpu, on_cpu in pairs if on_cpu is value]
            return own[0] if own else value.to(devices[0])

        given, named = pytree.tree_map(to_cpu, (args, kwargs))
        if self.draws and named.get("generator") is None:
            index = devices[0].index if devices else None
            index = torch.cuda.current_device() if index is None else index
            named["generator"] = cpu_generator(torch.cuda.default_generators[index])
        try:
            results = call(self.operation, given, named)
        except NotImplementedError as error:
            raise NotImplementedError(
                f"pagemill: torch.{self.__name__} is machine code of NVIDIA's GPUs in PyTorch's wheel, Inductor has no kernel for it, "
                "and PyTorch's CPU does not have it: use other operations for this part, or give it tensors of the CPU"
            ) from error
        for place, name in self.written:
            written = kwargs[name] if name in kwargs else args[place]
            for on_gpu, on_cpu in pairs:
                if any(one is on_gpu for one in pytree.tree_leaves(written)):
                    on_gpu = on_gpu.resize_(on_cpu.shape) if on_gpu.layout == torch.strided else on_gpu
                    on_gpu.copy_(on_cpu)
        return pytree.tree_map(to_gpu, results)


def cpu_generator(generator):
    """A generator of the CPU for the state of one of the GPU, which moves on."""
    if generator.device.type == "cpu":
        return generator
    seed, offset = generator.initial_seed(), generator.get_offset()
    generator.set_offset(offset + 4)
    return torch.Generator("cpu").manual_seed((seed * 0x9E3779B97F4A7C15 + offset) % 2**63)


class Dropout:
    """The CPU draws what stays: the rest is a kernel."""

    __name__ = "native_dropout"

    def __call__(self, values, chance, train):
        kept = torch.ones_like(values, dtype=torch.bool)
        if train is False:
            return values.clone(), kept
        kept.bernoulli_(1 - chance)
        return torch.ops.aten.native_dropout_backward(values, kept, 1 / (1 - chance) if chance < 1 else 0.0), kept


class Copy:
    """Copies: those of memory stay PyTorch's, those with conversion or other strides are kernels."""

    __name__ = "copy_"

    def __init__(self, original):
        self.original = original
        self.kernel = Compiled("copy_")

    def __call__(self, into, source, non_blocking=False):
        if into.numel() == 0 or is_of_memory(into, source):
            return self.of_memory(into, source, non_blocking)
        if source.is_neg():
            source = torch._neg_view(source).neg()
        if into.is_neg():
            torch._neg_view(into).copy_(source.neg())
            return into
        if into.device == source.device:
            return self.by_parts(into, source) if into.is_complex() or source.is_complex() else self.kernel(into, source)
        if into.is_cuda and source.is_cuda:
            return self(into, source.to(into.dtype).expand(into.shape).contiguous().to(into.device))
        source = source.resolve_conj()
        if into.is_cuda:
            source = source.to(into.dtype).expand(into.shape).contiguous()
            if is_of_memory(into, source):
                return self.of_memory(into, source, non_blocking)
            return self.kernel(into, self.of_memory(torch.empty_like(source, device=into.device), source, False))
        source = source.contiguous()
        return into.copy_(self.of_memory(torch.empty_like(source, device="cpu"), source, False))

    def by_parts(self, into, source):
        into.real.copy_(source.real)
        if into.is_complex():
            into.imag.copy_(source.imag) if source.is_complex() else into.imag.zero_()
        return into

    def of_memory(self, into, source, non_blocking):
        self.original.call_boxed(torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA), into, source, non_blocking)
        return into


def is_of_memory(into, source):
    if into.shape != source.shape or into.dtype != source.dtype:
        return False
    if into.is_conj() != source.is_conj() or into.is_neg() != source.is_neg():
        return False
    if into.is_contiguous() and source.is_contiguous():
        return True
    return into.stride() == source.stride() and is_dense(into)


def is_dense(tensor):
    reach = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape)):
        if size > 1 and stride != reach:
            return False
        reach *= size
    return True


def say(text):
    print(f"pagemill: {text}", file=sys.stderr)


say_once = functools.cache(say)
