"""tinygrad: element-wise, reduction, matrix product, and the JIT, against NumPy."""
import numpy as np
from tinygrad import Tensor, TinyJit

rng = np.random.default_rng(1)
a, b = rng.random((33, 40), dtype=np.float32), rng.random((40, 17), dtype=np.float32)
np.testing.assert_allclose((Tensor(a) + 1).relu().numpy(), np.maximum(a + 1, 0))
np.testing.assert_allclose(Tensor(a).sum(axis=0).numpy(), a.sum(axis=0), rtol=1e-5)
np.testing.assert_allclose((Tensor(a) @ Tensor(b)).numpy(), a @ b, rtol=1e-4)


@TinyJit
def step(x):
    return (x * 2 + 1).realize()


for value in range(4):
    np.testing.assert_allclose(step(Tensor(a + value).realize()).numpy(), (a + value) * 2 + 1, rtol=1e-6)
print("tinygrad agrees with NumPy")
