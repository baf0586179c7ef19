"""numba-cuda: a kernel, shared memory, atomics, a device function, a stream, against NumPy."""
import numpy as np
from numba import cuda, float32


@cuda.jit(device=True)
def square(x):
    return x * x


@cuda.jit
def axpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * square(x[i])


@cuda.jit
def total(x, out):
    part = cuda.shared.array(128, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    part[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    if t == 0:
        s = float32(0)
        for k in range(128):
            s += part[k]
        cuda.atomic.add(out, 0, s)


x = np.arange(1000, dtype=np.float32)
y = np.ones(1000, dtype=np.float32)
stream = cuda.stream()
d = cuda.to_device(y, stream=stream)
axpy[8, 128, stream](2, cuda.to_device(x, stream=stream), d)
np.testing.assert_allclose(d.copy_to_host(stream=stream), 1 + 2 * x * x)
out = np.zeros(1, dtype=np.float32)
total[8, 128](x, out)
np.testing.assert_allclose(out[0], x.sum())
print("numba-cuda agrees with NumPy")
