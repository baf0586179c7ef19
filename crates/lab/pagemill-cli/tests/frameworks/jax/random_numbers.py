"""Random numbers: the same bits as on the CPU, and numbers made of them."""

import jax
from beside_cpu import same

seed = jax.numpy.uint32(5)


def draw(kind, *rest, **words):
    return lambda seed: getattr(jax.random, kind)(jax.random.key(seed), *rest, **words)


same("bits", draw("bits", (1000,)), seed)
same("uniform", draw("uniform", (1000,)), seed, tolerance=0)
same("normal", draw("normal", (33, 65)), seed)
same("bfloat16", draw("normal", (500,), dtype="bfloat16"), seed, tolerance=1e-2)
same("integers", draw("randint", (777,), 0, 19), seed)
same("permutation", draw("permutation", 200), seed)
same("bernoulli", draw("bernoulli", 0.3, (400,)), seed)
same("categorical", lambda s: jax.random.categorical(jax.random.key(s), jax.numpy.arange(9.0), shape=(300,)), seed)
same("exponential", draw("exponential", (300,)), seed, tolerance=1e-4)
same("gamma", draw("gamma", 2.5, (50,)), seed, tolerance=1e-3)
same("split", lambda s: jax.random.key_data(jax.random.split(jax.random.key(s), 9)), seed)
same("fold_in", lambda s: jax.random.key_data(jax.random.fold_in(jax.random.key(s), 12)), seed)
same("rbg", lambda s: jax.random.key_data(jax.random.split(jax.random.key(s, impl="rbg"), 3)), seed)
