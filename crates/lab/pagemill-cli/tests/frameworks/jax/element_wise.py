"""Functions of each element."""

import jax
import jax.numpy as jnp
from beside_cpu import integers, normal, same

x = normal(257, 33)
positive = abs(x) + 0.1
for name in "sin cos tan exp expm1 tanh sinh cosh arctan arcsinh floor ceil round sign square abs negative cbrt".split():
    same(name, getattr(jnp, name), x, tolerance=2e-5)
for name in "log log1p log2 sqrt reciprocal".split():
    same(name, getattr(jnp, name), positive, tolerance=2e-5)
for function in (jax.lax.erf, jax.lax.rsqrt, jax.lax.lgamma, jax.lax.digamma, jax.nn.sigmoid, jax.nn.gelu, jax.nn.silu):
    same(function.__name__, function, positive, tolerance=1e-4)
y = normal(257, 33, seed=8)
for name in "add subtract multiply divide maximum minimum arctan2 hypot fmod greater equal".split():
    same(name, getattr(jnp, name), x, y, tolerance=2e-5)
same("power", jnp.power, positive, y, tolerance=1e-4)
for kind in ("int8", "int16", "int32", "uint32"):
    a, b = integers(1, 100, 513, dtype=kind), integers(1, 7, 513, dtype=kind, seed=8)
    same(f"{kind} arithmetic", lambda a, b: (a + b, a * b, a // b, a % b, a & b, a | b, a ^ b, a << b, a >> b), a, b)
    same(f"{kind} bits", lambda a: (jax.lax.population_count(a), jax.lax.clz(a), ~a), a)
for kind in ("bfloat16", "float16"):
    same(kind, lambda a, b: a * b + jnp.tanh(a), normal(300, dtype=kind), normal(300, dtype=kind, seed=8), tolerance=1e-2)
same("complex64", lambda a, b: (a * b, jnp.abs(a), jnp.exp(b)), x + 1j * y, y - 0.5j * x, tolerance=1e-4)
same("select", lambda a, b: jnp.where(a > b, a, -b), x, y)
same("conversions", lambda a: (a.astype(jnp.int32), a.astype(jnp.bfloat16), a.astype(jnp.float16), a > 0), 10 * x)
same("broadcast", lambda a, b: a[:, None] + b[None, :], x[:, 0], y[0])
