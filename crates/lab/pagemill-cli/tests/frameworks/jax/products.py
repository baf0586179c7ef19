"""Matrix products: each kind of number, transposed and batched operands."""

import jax
import jax.numpy as jnp
import numpy as np
from beside_cpu import integers, normal, same

HIGHEST = jax.lax.Precision.HIGHEST
SHAPES = [(16, 16, 16), (64, 96, 32), (100, 70, 130), (128, 256, 64), (1, 64, 64), (65, 1, 17)]


def check(name, dtype, shape, tolerance, precision=None, result=None):
    m, k, n = shape
    operands = normal(m, k, dtype=dtype), normal(k, n, dtype=dtype, seed=8)

    def product(a, b):
        return jax.lax.dot(a, b, precision=precision, preferred_element_type=result)

    same(f"{name} {m}x{k}x{n}", product, *operands, tolerance=tolerance)


for shape in SHAPES:
    check("f32", "float32", shape, 1e-4, precision=HIGHEST)
    check("tf32", "float32", shape, 5e-2)
    check("bf16", "bfloat16", shape, 1e-3, result=jnp.float32)
    check("f16", "float16", shape, 1e-3, result=jnp.float32)
    check("bf16 rounded", "bfloat16", shape, 1e-1)
a, b = normal(48, 80), normal(48, 80, seed=8)
same("a b^T", lambda a, b: jnp.dot(a, b.T, precision=HIGHEST), a, b, tolerance=1e-4)
same("a^T b", lambda a, b: jnp.dot(a.T, b, precision=HIGHEST), a, b, tolerance=1e-4)
batch = normal(5, 32, 48), normal(5, 48, 16, seed=8)
same("batch", lambda a, b: jnp.matmul(a, b, precision=HIGHEST), *batch, tolerance=1e-4)
same("einsum", lambda a, b: jnp.einsum("bij,bjk->bki", a, b, precision=HIGHEST), *batch, tolerance=1e-4)
same("vector", lambda a, b: jnp.dot(a, b, precision=HIGHEST), a, normal(80), tolerance=1e-4)
same("integers", lambda a, b: jnp.dot(a, b), integers(-9, 9, 40, 50), integers(-9, 9, 50, 30, seed=8))
same("epilogue", lambda a, b, c: jax.nn.relu(jnp.dot(a, b.T, precision=HIGHEST) + c), a, b, normal(48), tolerance=1e-4)
assert np.asarray(jax.jit(jnp.dot)(a, b.T)).shape == (48, 48)
