"""Six steps of a GPT in JAX: two layers of 128 channels and four heads, four rows of 128 of 256 tokens."""

import jax
import jax.numpy as jnp

TOKENS, LENGTH, WIDTH, HEADS, LAYERS, BATCH = 256, 128, 128, 4, 2, 4
key = jax.random.PRNGKey(0)


def normal(i, *shape):
    return jax.random.normal(jax.random.fold_in(key, i), shape) * (shape[0] ** -0.5)


def layer(i):
    return {
        "qkv": normal(10 + 4 * i, WIDTH, 3 * WIDTH),
        "o": normal(11 + 4 * i, WIDTH, WIDTH),
        "u": normal(12 + 4 * i, WIDTH, 4 * WIDTH),
        "d": normal(13 + 4 * i, 4 * WIDTH, WIDTH),
        "g1": jnp.ones(WIDTH),
        "g2": jnp.ones(WIDTH),
    }


weights = {
    "e": normal(1, TOKENS, WIDTH) * 0.1,
    "pos": normal(2, LENGTH, WIDTH) * 0.1,
    "out": normal(3, WIDTH, TOKENS),
    "L": [layer(i) for i in range(LAYERS)],
}


def norm(x, gain):
    m = x.mean(-1, keepdims=True)
    v = ((x - m) ** 2).mean(-1, keepdims=True)
    return gain * (x - m) * jax.lax.rsqrt(v + 1e-5)


def attention(x, p):
    b, t, c = x.shape
    parts = jnp.split(x @ p["qkv"], 3, -1)
    q, k, v = (a.reshape(b, t, HEADS, c // HEADS).transpose(0, 2, 1, 3) for a in parts)
    scores = q @ k.transpose(0, 1, 3, 2) / (c // HEADS) ** 0.5
    scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -1e9)
    return (jax.nn.softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(b, t, c) @ p["o"]


def network(weights, tokens):
    x = weights["e"][tokens] + weights["pos"]
    for p in weights["L"]:
        x = x + attention(norm(x, p["g1"]), p)
        x = x + jax.nn.gelu(norm(x, p["g2"]) @ p["u"]) @ p["d"]
    return x @ weights["out"]


def loss(weights, tokens):
    chances = jax.nn.log_softmax(network(weights, tokens))
    return -jnp.mean(jnp.take_along_axis(chances, jnp.roll(tokens, -1, 1)[..., None], -1))


@jax.jit
def step(weights, tokens):
    value, slope = jax.value_and_grad(loss)(weights, tokens)
    return value, jax.tree_util.tree_map(lambda a, b: a - 0.1 * b, weights, slope)


tokens = jax.random.randint(key, (BATCH, LENGTH), 0, TOKENS)
for s in range(6):
    value, weights = step(weights, tokens)
    print(s, float(value))
