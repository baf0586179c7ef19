"""`vmap`, `grad` and what is made of them."""

import jax
import jax.numpy as jnp
from beside_cpu import normal, same

x, w = normal(24, 16), normal(16, 8, seed=8)


def layer(w, x):
    return jnp.tanh(jnp.dot(x, w, precision="highest"))


def loss(w, x):
    return jnp.sum(layer(w, x) ** 2)


same("vmap", lambda w, x: jax.vmap(layer, (None, 0))(w, x), w, x, tolerance=1e-4)
same("vmap of vmap", jax.vmap(jax.vmap(lambda a, b: a * b + a, (0, None)), (None, 0)), x[0], x[1])
same("grad", jax.grad(loss), w, x, tolerance=1e-4)
same("value and grad", jax.value_and_grad(loss, argnums=(0, 1)), w, x, tolerance=1e-4)
same("grad of each", jax.vmap(jax.grad(loss), (None, 0)), w, x, tolerance=1e-4)
same("jacobian", lambda w: jax.jacrev(lambda w: layer(w, x[0]))(w), w, tolerance=1e-4)
same("forward", lambda w, x: jax.jvp(lambda w: layer(w, x), (w,), (w,)), w, x, tolerance=1e-4)
same("hessian", lambda v: jax.hessian(lambda v: jnp.sum(jnp.sin(v) ** 3))(v), x[0], tolerance=1e-4)
same("checkpoint", jax.grad(lambda w, x: loss(w, jax.checkpoint(jnp.sin)(x))), w, x, tolerance=1e-4)
