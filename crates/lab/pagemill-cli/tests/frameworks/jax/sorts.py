"""Sorting, and what is made of it."""

import jax
import jax.numpy as jnp
from beside_cpu import integers, normal, same

x = normal(37, 200)
for axis in (0, 1):
    same(f"sort {axis}", lambda a, i=axis: jnp.sort(a, axis=i), x, tolerance=0)
    same(f"argsort {axis}", lambda a, i=axis: jnp.argsort(a, axis=i), x)
same("descending", lambda a: jnp.sort(a, descending=True), x, tolerance=0)
same("integers", jnp.sort, integers(-1000, 1000, 3000))
same("unsigned bytes", jnp.sort, integers(0, 250, 999, dtype="uint8"))
same("bfloat16", jnp.sort, normal(777, dtype="bfloat16"), tolerance=0)
same("keys and values", lambda k, v: jax.lax.sort((k, v), num_keys=1), integers(0, 50, 600), normal(600), tolerance=0)
same("top_k", lambda a: jax.lax.top_k(a, 5), x, tolerance=0)
same("searchsorted", lambda a, b: jnp.searchsorted(jnp.sort(a), b), normal(500), normal(90, seed=8))
same("median", lambda a: jnp.median(a, axis=1), x)
same("unique", lambda a: jnp.unique(a, size=40), integers(0, 40, 300))
