"""Attention as XLA compiles it, with and without a mask, and its gradient."""

import jax
import jax.numpy as jnp
from beside_cpu import normal, same

q, k, v = (normal(2, 48, 4, 32, seed=i) for i in (1, 2, 3))


def by_hand(q, k, v, causal):
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k, precision="highest") / q.shape[-1] ** 0.5
    if causal:
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e9)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v, precision="highest")


def library(q, k, v):
    return jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation="xla")


same("full", lambda q, k, v: by_hand(q, k, v, False), q, k, v, tolerance=1e-4)
same("causal", lambda q, k, v: by_hand(q, k, v, True), q, k, v, tolerance=1e-4)
same("dot_product_attention", library, q, k, v, tolerance=2e-2)
half = [a.astype(jnp.bfloat16) for a in (q, k, v)]
same("bfloat16", library, *half, tolerance=5e-2)
same("gradient", jax.grad(lambda q, k, v: by_hand(q, k, v, True).sum(), argnums=(0, 1, 2)), q, k, v, tolerance=1e-3)
