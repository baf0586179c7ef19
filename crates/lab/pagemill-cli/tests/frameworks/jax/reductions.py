"""Sums and other reductions, of rows, columns and everything."""

import jax
import jax.numpy as jnp
from beside_cpu import integers, normal, same

x = normal(130, 257)
for name in "sum mean max min prod std var argmax argmin any all".split():
    for axis in (None, 0, 1):
        scaled = 1 + x / 100 if name == "prod" else x
        same(f"{name} {axis}", lambda a, n=name, i=axis: getattr(jnp, n)(a, axis=i), scaled, tolerance=1e-4)
long = normal(100_003)
same("long sum", jnp.sum, long, tolerance=1e-3)
same("long maximum", jnp.max, long, tolerance=0)
same("norm", lambda a: jnp.sqrt(jnp.sum(a * a, axis=1)), x, tolerance=1e-4)
same("softmax", lambda a: jax.nn.softmax(a, axis=-1), x)
same("logsumexp", lambda a: jax.nn.logsumexp(a, axis=0), x)
same("three axes", lambda a: a.sum(axis=(0, 2)), normal(9, 20, 31), tolerance=1e-4)
same("integers", lambda a: (a.sum(), a.max(axis=1), a.min(axis=0)), integers(-50, 50, 70, 90))
same("bfloat16", lambda a: a.sum(axis=1, dtype=jnp.float32), normal(40, 100, dtype="bfloat16"), tolerance=1e-3)
same("segments", lambda a, i: jax.ops.segment_sum(a, i, 10), normal(500), integers(0, 10, 500), tolerance=1e-4)
