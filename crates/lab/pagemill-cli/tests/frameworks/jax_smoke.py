"""JAX: a row of operations and the training of a small network, compared with NumPy in double precision."""

import jax
import jax.numpy as jnp
import numpy as np

rng = np.random.default_rng(7)
x = rng.standard_normal((96, 32)).astype(np.float32)
w = rng.standard_normal((32, 16)).astype(np.float32)


def same(name, found, expected, tolerance=1e-4):
    np.testing.assert_allclose(np.asarray(found), expected, rtol=tolerance, atol=tolerance, err_msg=name)


assert jax.devices()[0].platform == "gpu", jax.devices()
wide = x.astype(np.float64), w.astype(np.float64)
same("element-wise", jax.jit(lambda a: jnp.tanh(a) * 2 + 1)(x), np.tanh(wide[0]) * 2 + 1)
same("reduction", jax.jit(lambda a: a.sum(axis=1))(x), wide[0].sum(axis=1))
same("scan", jax.jit(lambda a: jnp.cumsum(a, axis=0))(x), np.cumsum(wide[0], axis=0))
same("gather", jax.jit(lambda a, i: a[i])(x, jnp.array([5, 1, 90])), x[[5, 1, 90]])
highest = jax.lax.Precision.HIGHEST
same("product", jax.jit(lambda a, b: jnp.dot(a, b, precision=highest))(x, w), wide[0] @ wide[1])
same("loop", jax.jit(lambda n: jax.lax.while_loop(lambda v: v < 100, lambda v: v * 3, n))(2), 162)


@jax.jit
def step(weights):
    def loss(weights):
        return jnp.mean(jnp.dot(x, weights, precision=highest) ** 2)

    value, gradient = jax.value_and_grad(loss)(weights)
    return value, weights - 0.1 * gradient


found, expected = jnp.asarray(w), wide[1]
for index in range(3):
    value, found = step(found)
    output = wide[0] @ expected
    same(f"loss {index}", value, np.mean(output**2))
    expected = expected - 0.1 * 2 * wide[0].T @ output / output.size
same("weights", found, expected)
print("agrees with NumPy")
