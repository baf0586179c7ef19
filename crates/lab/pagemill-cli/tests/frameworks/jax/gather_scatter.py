"""Indexed reads and writes, slices, and moves of whole arrays."""

import jax
import jax.numpy as jnp
from beside_cpu import integers, normal, same

x, i = normal(90, 40), integers(0, 90, 25)
same("rows", lambda a, i: a[i], x, i, tolerance=0)
same("negative and beyond", lambda a, i: a.at[i - 60].get(mode="fill", fill_value=7), x, 3 * i, tolerance=0)
same("take_along_axis", lambda a, i: jnp.take_along_axis(a, i % 40, axis=1), x, integers(0, 40, 90, 3), tolerance=0)
same("set", lambda a, i: a.at[i[:1]].set(3.0), x, i, tolerance=0)
same("add", lambda a, i: a.at[i].add(0.5), x, i)
same("add integers", lambda a, i: a.at[i].add(2), integers(0, 9, 90), i)
same("maximum", lambda a, i: a.at[i].max(0.25), x, i, tolerance=0)
same("minimum", lambda a, i: a.at[i].min(0.25), x, i, tolerance=0)
same("multiply", lambda a, i: a.at[i].multiply(2.0), x, i)
same("bfloat16", lambda a, i: a.at[i].add(1), jnp.asarray(x, jnp.bfloat16), jnp.unique(i), tolerance=1e-2)
same("slices", lambda a, n: jax.lax.dynamic_slice(a, (n, 2), (30, 8)), x, jnp.int32(17), tolerance=0)
same("updates", lambda a, n: jax.lax.dynamic_update_slice(a, a[:4, :4] + 1, (n, n)), x, jnp.int32(11))
same("transpose", lambda a: a.T + 0, x, tolerance=0)
same("axes", lambda a: a.transpose(2, 0, 1) + 0, normal(5, 6, 7), tolerance=0)
same("concatenate", lambda a: jnp.concatenate([a, a[::-1], a[:, ::-1]]), x, tolerance=0)
same("pad", lambda a: jnp.pad(a, ((1, 2), (3, 0)), constant_values=4), x, tolerance=0)
same("roll and tile", lambda a: jnp.tile(jnp.roll(a, 3, axis=1), (2, 2)), x, tolerance=0)
same("one hot", lambda i: jax.nn.one_hot(i, 90), i, tolerance=0)
same("nonzero", lambda a: jnp.nonzero(a > 0.5, size=100, fill_value=-1), x)
