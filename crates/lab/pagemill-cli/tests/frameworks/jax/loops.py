"""`scan`, `while_loop`, `fori_loop`, `cond` and `switch`."""

import jax
import jax.numpy as jnp
from beside_cpu import normal, same

x, w = normal(20, 12), normal(12, 12, seed=8) / 6


def cell(state, row):
    state = jnp.tanh(jnp.dot(state, w, precision="highest") + row)
    return state, state.sum()


same("scan", lambda x: jax.lax.scan(cell, jnp.zeros(12), x), x, tolerance=1e-4)
same("gradient of scan", jax.grad(lambda x: jax.lax.scan(cell, jnp.zeros(12), x)[1].sum()), x, tolerance=1e-3)
same("unrolled", lambda x: jax.lax.scan(cell, jnp.zeros(12), x, unroll=4), x, tolerance=1e-4)
same("while", lambda n: jax.lax.while_loop(lambda v: v < 1000, lambda v: v * 3 + 1, n), jnp.int32(2))
same("while on data", lambda a: jax.lax.while_loop(lambda v: jnp.max(v) > 0.1, lambda v: v * 0.7, a), abs(x))
same("fori", lambda a: jax.lax.fori_loop(0, 9, lambda i, v: v + jnp.sin(v) * i, a), x, tolerance=1e-3)
same("cond", lambda a: jax.lax.cond(a.sum() > 0, jnp.sin, jnp.cos, a), x)
same("switch", lambda n, a: jax.lax.switch(n, [jnp.sin, jnp.cos, jnp.exp], a), jnp.int32(2), x)
same("map", lambda a: jax.lax.map(lambda row: row / row.max(), a), x)
