"""What `pagemill cuda` prepares in a Python program: Python imports it at its start, and the user's own module of this name after it."""

import importlib.machinery
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def settle_inductor(config):
    # One template of a product is taken: no more are made. An assignment counts in this thread only, and backward passes are
    # compiled in others.
    entry = getattr(config, "_config", {}).get("test_configs.max_mm_configs")
    if entry is not None and config.deterministic:
        entry.default = 1


def settle_heuristics(heuristics):
    check = heuristics.check_autotune_cache

    def first_alone(configs, *rest, **named):
        return check(configs[:1], *rest, **named)

    # No trials of configurations, whose simulated time no program asked for.
    if os.environ.get("TORCHINDUCTOR_DETERMINISTIC") == "1":
        heuristics.check_autotune_cache = first_alone
        tuner = getattr(heuristics, "CachingAutotuner", None)
        if tuner is not None:
            tuner._should_coordesc_tune = False


def settle_testing(testing):
    def do_bench(fn, warmup=25, rep=100, grad_to_none=None, quantiles=None, return_mode="mean"):
        """The time of one run: simulated time repeats, and without it all are 0."""
        interface = testing.runtime.driver.active.get_device_interface()
        start, end = (interface.Event(enable_timing=True) for _ in range(2))
        fn()
        for tensor in grad_to_none or []:
            tensor.grad = None
        start.record()
        fn()
        end.record()
        interface.synchronize()
        return testing._summarize_statistics([start.elapsed_time(end)], quantiles, return_mode)

    testing.do_bench = do_bench


def settle_sources(codecache):
    def load_by_name(name, source):
        key, path = codecache.PyCodeCache.write(source)
        # Rows of lines say the file's name, which is a hash; of kernels with one name, its first letters.
        named = os.path.join(os.path.dirname(path), key[:12], name + ".py")
        if not os.path.exists(named):
            codecache.write_atomic(named, source, make_dirs=True)
        return getattr(codecache.PyCodeCache.load_by_key_path(key, named), name)

    codecache._load_triton_kernel_from_source = load_by_name


def settle_graph(module):
    call = module.GraphLowering.call_function
    others = dict(max_autotune_gemm_backends="ATEN,TRITON,CPP", max_autotune_conv_backends="ATEN,TRITON,CPP")

    def call_function(self, target, args, kwargs):
        # Of a product of the CPU's Triton has no template: PyTorch's own does it.
        made = self.current_node.meta.get("val")
        if getattr(getattr(made, "device", None), "type", None) != "cpu":
            return call(self, target, args, kwargs)
        with module.config.patch(others):
            return call(self, target, args, kwargs)

    module.GraphLowering.call_function = call_function


def settle_scatters(utils):
    asks, lacks = utils.use_scatter_fallback, utils.needs_fallback_due_to_atomic_add_limitations
    int64, narrower = utils.torch.int64, utils.torch.int32

    def use_scatter_fallback(operation, reduction, own, *rest):
        # Stores alone need no atomic.
        return reduction is not None and asks(operation, reduction, narrower if own == int64 else own, *rest)

    utils.use_scatter_fallback = use_scatter_fallback
    # PTX adds 64 bits.
    utils.needs_fallback_due_to_atomic_add_limitations = lambda kind: kind != int64 and lacks(kind)


def settle_decompositions(module):
    own("pagemill_convolution").install(module.decompositions)


def settle_groups(module):
    make, defaults = module._new_process_group_helper, module.Backend.default_device_backend_map

    def make_by_gloo(size, rank, ranks, backend, *rest, **named):
        if "nccl" in str(backend).lower():
            own("pagemill_torch").say_once(
                "torch.distributed: NCCL wants NVIDIA's own driver, so gloo passes tensors between processes, and its time is not simulated"
            )
            backend, named = module.Backend.GLOO, {**named, "backend_options": None, "device_id": None}
        return make(size, rank, ranks, backend, *rest, **named)

    module._new_process_group_helper = make_by_gloo
    if defaults.get("cuda") == "nccl":
        defaults["cuda"] = module.Backend.GLOO


def settle_torch(torch):
    if torch.version.cuda is None:
        return
    try:
        own("pagemill_torch").install()
    except Exception as error:
        # The program may need none of them.
        print(f"pagemill: operations of PyTorch on the GPU stay machine code: {error!r}", file=sys.stderr)


def own(name):
    return sys.modules.get(name) or load(name, importlib.machinery.PathFinder.find_spec(name, [HERE]))


def load(name, spec):
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class Finder:
    """Finds some modules as they are found without it, and settles each once it is imported."""

    settlements = {
        "torch": settle_torch,
        "torch.distributed.distributed_c10d": settle_groups,
        "torch._inductor.codecache": settle_sources,
        "torch._inductor.config": settle_inductor,
        "torch._inductor.decomposition": settle_decompositions,
        "torch._inductor.graph": settle_graph,
        "torch._inductor.runtime.triton_heuristics": settle_heuristics,
        "torch._inductor.utils": settle_scatters,
        "triton.testing": settle_testing,
    }

    def find_spec(self, name, path=None, target=None):
        if name not in self.settlements:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_settle(module):
            execute(module)
            self.settlements[name](module)

        spec.loader.exec_module = execute_and_settle
        return spec


def load_own():
    """Loads the module of this name that stands behind this one in the path."""
    places = [os.path.abspath(entry) for entry in sys.path]
    path = sys.path[places.index(HERE) + 1 :] if HERE in places else []
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if spec is not None and spec.loader is not None:
        load("sitecustomize", spec)


sys.meta_path.insert(0, Finder())
load_own()
