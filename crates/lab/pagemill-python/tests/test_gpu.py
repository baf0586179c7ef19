"""Kernels on NumPy arrays."""

import numpy as np
import pagemill
import pytest


def test_the_example_of_the_readme(root, tmp_path, monkeypatch):
    text = (root / "README.md").read_text()
    block = text.split("```python\n")[1].split("```")[0]
    assert len([line for line in block.splitlines() if line.strip()]) <= 12
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {})
    assert list(tmp_path.glob("*.png"))


# These need a machine with a unified-memory driver.
OF_A_DRIVER = {"on-demand", "zero-copy", "stripe", "stripe-even", "bulk-prefetch", "read-mostly"}


@pytest.mark.parametrize("policy", list(pagemill.policies()))
def test_results_are_right_under_every_policy(policy):
    rng = np.random.default_rng(1)
    x, y = rng.random(5000, np.float32), rng.random(5000, np.float32)
    gpu = pagemill.Gpu("a100-pcie4-x86" if policy in OF_A_DRIVER else "gtx480", policy)
    a, b, c = gpu.managed(x), gpu.managed(y), gpu.managed(np.zeros_like(x))
    launch = gpu.launch(pagemill.ptx("vector-add"), "vector_add", 20, 256, [a, b, c, x.size])
    assert launch.kernel == "vector_add" and launch.time_ns > 0
    np.testing.assert_array_equal(c.numpy(), x + y)
    np.testing.assert_array_equal(np.asarray(a), x)
    rows = gpu.finish().rows
    assert [row["table"] for row in rows[:2]] == ["program", "kernel"]
    assert rows[1]["kernel"] == "vector_add"
    # What pages move for has rows of its own.
    assert {row["allocation"] for row in rows[2:]} <= {"managed #1", "managed #2", "managed #3"}
    assert rows[0]["mode"] == policy


def test_arrays_keep_shape_and_type():
    gpu = pagemill.Gpu("gtx480")
    for array in [np.arange(6, dtype=np.int16).reshape(2, 3), np.eye(3)[::2], np.ones(4, ">u4"), np.bool_([1, 0])]:
        managed = gpu.managed(array)
        np.testing.assert_array_equal(managed.numpy(), array)
        assert managed.numpy().dtype == array.dtype and managed.nbytes == array.nbytes
    managed.write([False, True])
    np.testing.assert_array_equal(managed.numpy(), [False, True])
    managed.free()
    with pytest.raises(ValueError, match="nothing is allocated"):
        managed.numpy()


KERNEL = """
.version 7.5
.target sm_75
.address_size 64
.visible .entry store(.param .u64 out, .param .u8 a, .param .s32 b, .param .f32 c, .param .f64 d)
{
  .reg .b64 %rd<3>; .reg .b32 %r<3>; .reg .f32 %f<2>; .reg .f64 %fd<3>; .reg .b16 %h<2>;
  ld.param.u64 %rd1, [out];
  ld.param.u8 %h1, [a];
  cvt.f64.u16 %fd1, %h1;
  st.global.f64 [%rd1], %fd1;
  ld.param.s32 %r1, [b];
  cvt.rn.f64.s32 %fd1, %r1;
  st.global.f64 [%rd1+8], %fd1;
  ld.param.f32 %f1, [c];
  cvt.f64.f32 %fd1, %f1;
  st.global.f64 [%rd1+16], %fd1;
  ld.param.f64 %fd1, [d];
  st.global.f64 [%rd1+24], %fd1;
  ret;
}
.visible .entry endless()
{
LOOP:
  bra LOOP;
}
"""


def test_numbers_take_the_size_of_their_parameter(tmp_path):
    module = tmp_path / "store.ptx"
    module.write_text(KERNEL)
    gpu = pagemill.Gpu("gtx480")
    out = gpu.managed(np.zeros(4))
    gpu.launch(module, "store", 1, 1, [out, 200, -7, 0.5, 0.1])
    np.testing.assert_array_equal(out.numpy(), [200, -7, 0.5, 0.1])
    gpu.launch(module, "store", (1, 1), (1, 1, 1), [out, np.uint8(3), np.int32(4), np.float32(0.1), 5])
    np.testing.assert_array_equal(out.numpy(), [3, 4, np.float32(0.1), 5])


@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        ([], TypeError, "5 parameters, 0 arguments"),
        (["out", 256, 0, 0.0, 0.0], OverflowError, "256 does not fit a parameter of 1 bytes"),
        (["out", 0, 0.5, 0.0, 0.0], TypeError, "argument 2 .*float"),
        (["out", np.int64(1), 0, 0.0, 0.0], TypeError, "argument 1 .*8 bytes"),
        (["out", "one", 0, 0.0, 0.0], TypeError, "managed arrays"),
        ([np.zeros(4), 0, 0, 0.0, 0.0], TypeError, "gpu.managed"),
    ],
)
def test_wrong_arguments_are_refused(args, error, message):
    gpu = pagemill.Gpu("gtx480")
    out = gpu.managed(np.zeros(4))
    with pytest.raises(error, match=message):
        gpu.launch(KERNEL, "store", 1, 1, [out if isinstance(arg, str) and arg == "out" else arg for arg in args])


def test_what_cannot_be_launched_is_refused():
    gpu = pagemill.Gpu("gtx480")
    with pytest.raises(ValueError, match="it has store, endless"):
        gpu.launch(KERNEL, "shop", 1, 1)
    for shape, error in [("256", TypeError), (2.5, TypeError), (True, TypeError), ((1, "2"), TypeError), (b"8", TypeError), ({1: 2}, TypeError),
                         (0, ValueError), ((), ValueError), ((1, 1, 1, 1), ValueError), ((1, 0), ValueError)]:
        with pytest.raises(error, match="grid="):
            gpu.launch(KERNEL, "store", shape, 1)
        with pytest.raises(error, match="block="):
            gpu.launch(KERNEL, "store", 1, shape)
    for bytes_of_block, error in [(-1, ValueError), ("64", TypeError)]:
        with pytest.raises(error, match="shared_bytes"):
            gpu.launch(KERNEL, "store", 1, 1, shared_bytes=bytes_of_block)
    with pytest.raises(TypeError, match="args='abc'"):
        gpu.launch(KERNEL, "store", 1, 1, "abc")
    with pytest.raises(ValueError, match="no bytes"):
        gpu.managed(np.array([object()]))
    with pytest.raises(ValueError):
        gpu.managed(np.zeros(0))
    with pytest.raises(FileNotFoundError):
        gpu.launch("no.ptx", "store", 1, 1)
    with pytest.raises(ValueError, match="another Gpu"):
        gpu.launch(KERNEL, "store", 1, 1, [pagemill.Gpu().managed(np.zeros(4)), 0, 0, 0.0, 0.0])
    with pytest.raises(pagemill.InputError, match="there is no machine"):
        pagemill.Gpu("no-machine")
    with pytest.raises(TypeError, match="page_size"):
        pagemill.Gpu(pagesize="4 KiB")


def test_limits_and_ended_runs_are_errors():
    gpu = pagemill.Gpu("gtx480", overrides={"limits.thread_instructions": 10_000})
    with pytest.raises(pagemill.RunError, match="10000 thread instructions"):
        gpu.launch(KERNEL, "endless", 1, 32)
    gpu = pagemill.Gpu("gtx480")
    gpu.finish()
    with pytest.raises(pagemill.RunError, match="has ended"):
        gpu.managed(np.zeros(4))


# Memory that is read again may change, so that this is no endless loop by itself.
POLL = """
.version 7.5
.target sm_75
.address_size 64
.visible .entry poll(.param .u64 flag)
{
  .reg .pred %p<2>; .reg .b32 %r<2>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [flag];
again:
  ld.volatile.global.u32 %r1, [%rd1];
  setp.eq.s32 %p1, %r1, 0;
  @%p1 bra again;
  ret;
}
"""


def test_ctrl_c_stops_an_endless_kernel():
    import _thread
    import threading

    gpu = pagemill.Gpu("gtx480")
    flag = gpu.managed(np.zeros(1, np.int32))
    threading.Timer(0.3, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        gpu.launch(POLL, "poll", 1, 32, [flag])
    with pytest.raises(pagemill.RunError, match="stopped"):
        gpu.launch(POLL, "poll", 1, 32, [flag])


def test_without_a_machine_it_is_that_of_the_command() -> None:
    gpu = pagemill.Gpu()
    row = gpu.finish().rows[0]
    assert (row["gpu"], row["mode"]) == ("h100-sxm", "on-demand")
    assert pagemill.Gpu("gtx480").finish().rows[0]["mode"] == "multi-range"
