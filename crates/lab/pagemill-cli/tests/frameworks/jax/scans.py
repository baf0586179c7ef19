"""Running sums, and `associative_scan`."""

import jax
import jax.numpy as jnp
from beside_cpu import integers, normal, same

x = normal(65, 130)
for axis in (0, 1):
    same(f"cumsum {axis}", lambda a, i=axis: jnp.cumsum(a, axis=i), x, tolerance=1e-3)
    same(f"cummax {axis}", lambda a, i=axis: jax.lax.cummax(a, axis=i), x, tolerance=0)
    same(f"cummin {axis}", lambda a, i=axis: jax.lax.cummin(a, axis=i), x, tolerance=0)
    same(f"cumprod {axis}", lambda a, i=axis: jnp.cumprod(1 + a / 50, axis=i), x, tolerance=1e-3)
    same(f"cumlogsumexp {axis}", lambda a, i=axis: jax.lax.cumlogsumexp(a, axis=i), x, tolerance=1e-3)
same("reverse", lambda a: jax.lax.cumsum(a, axis=0, reverse=True), x, tolerance=1e-3)
same("integers", lambda a: jnp.cumsum(a), integers(-9, 9, 10_000))
same("associative", lambda a, b: jax.lax.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (a, b)),
     normal(300) / 2, normal(300, seed=8), tolerance=1e-3)
same("windows", lambda a: jax.lax.reduce_window(a, -jnp.inf, jax.lax.max, (3, 3), (2, 2), "SAME"), x, tolerance=0)
