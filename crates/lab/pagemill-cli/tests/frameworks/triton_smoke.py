"""Triton without torch: vector add, softmax and matrix product, against NumPy; memory by the driver's own functions."""
import ctypes

import numpy as np
import triton
import triton.language as tl

cuda = ctypes.CDLL("libcuda.so.1")


def check(code):
    assert code == 0, f"the driver gives {code}"


class Array:
    """A device array as Triton takes arguments: it asks for the address and the type."""

    def __init__(self, host):
        self.host = np.ascontiguousarray(host)
        self.dtype = {"float32": tl.float32, "float16": tl.float16}[str(host.dtype)]
        self.address = ctypes.c_uint64()
        check(cuda.cuMemAlloc_v2(ctypes.byref(self.address), ctypes.c_size_t(self.host.nbytes)))
        check(cuda.cuMemcpyHtoD_v2(self.address, ctypes.c_void_p(self.host.ctypes.data), ctypes.c_size_t(self.host.nbytes)))

    def data_ptr(self):
        return self.address.value

    def numpy(self):
        check(cuda.cuMemcpyDtoH_v2(ctypes.c_void_p(self.host.ctypes.data), self.address, ctypes.c_size_t(self.host.nbytes)))
        return self.host


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


@triton.jit
def softmax(out, x, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < columns
    values = tl.load(x + row * columns + at, mask=mask, other=-float("inf"))
    values = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + at, values / tl.sum(values, axis=0), mask=mask)


@triton.jit
def matmul(a, b, c, n, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(0, n, BLOCK):
        depth = k + tl.arange(0, BLOCK)
        left = tl.load(a + rows[:, None] * n + depth[None, :])
        right = tl.load(b + depth[:, None] * n + columns[None, :])
        total += tl.dot(left, right, input_precision="ieee")
    tl.store(c + rows[:, None] * n + columns[None, :], total)


triton.runtime.driver.active.get_current_device()
context = ctypes.c_void_p()
check(cuda.cuInit(0))
check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
check(cuda.cuCtxSetCurrent(context))
rng = np.random.default_rng(1)
x, y = (rng.random(1000, dtype=np.float32) for _ in range(2))
out = Array(np.zeros_like(x))
add[(triton.cdiv(x.size, 256),)](Array(x), Array(y), out, x.size, BLOCK=256)
np.testing.assert_allclose(out.numpy(), x + y)
m = rng.random((20, 100), dtype=np.float32)
out = Array(np.zeros_like(m))
softmax[(20,)](out, Array(m), 100, BLOCK=128)
np.testing.assert_allclose(out.numpy(), np.exp(m) / np.exp(m).sum(axis=1, keepdims=True), rtol=1e-5)
a, b = (rng.random((64, 64), dtype=np.float32) for _ in range(2))
out = Array(np.zeros_like(a))
matmul[(2, 2)](Array(a), Array(b), out, 64, BLOCK=32)
np.testing.assert_allclose(out.numpy(), a @ b, rtol=1e-4)
print("Triton agrees with NumPy")
