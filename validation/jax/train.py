"""Eight steps of an MLP in JAX: 16 inputs, two layers of 64, one output."""

import jax
import jax.numpy as jnp

key = jax.random.PRNGKey(0)


def first(key, sizes):
    pairs = enumerate(zip(sizes, sizes[1:]))
    return [(jax.random.normal(jax.random.fold_in(key, i), (a, b)) * a**-0.5, jnp.zeros(b)) for i, (a, b) in pairs]


def network(layers, x):
    for w, b in layers[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = layers[-1]
    return x @ w + b


def loss(layers, x, y):
    return jnp.mean((network(layers, x) - y) ** 2)


@jax.jit
def step(layers, x, y):
    value, slope = jax.value_and_grad(loss)(layers, x, y)
    return value, jax.tree_util.tree_map(lambda a, b: a - 0.05 * b, layers, slope)


layers = first(key, [16, 64, 64, 1])
x = jax.random.normal(key, (256, 16))
y = jnp.sin(x.sum(1, keepdims=True))
for i in range(8):
    value, layers = step(layers, x, y)
    print(i, float(value))
