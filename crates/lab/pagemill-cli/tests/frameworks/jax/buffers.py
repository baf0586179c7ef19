"""Donated buffers, copies between the devices, and calls of the host from within a program."""

import jax
import jax.experimental
import jax.numpy as jnp
import numpy as np
from beside_cpu import CPU, GPU, agree, normal, same

x = normal(128, 64)
placed = jax.device_put(x, GPU)
address = placed.unsafe_buffer_pointer()
step = jax.jit(lambda a: a * 2 + 1, donate_argnums=0)
result = step(placed)
assert placed.is_deleted() and result.unsafe_buffer_pointer() == address, "the result lies where its argument was"
agree("donated", result, x * 2 + 1, 1e-6)
for _ in range(20):
    result = step(result)
agree("donated again", result, (x.astype(np.float64) + 1) * 2.0**21 - 1, 1e-4)
agree("to the CPU and back", jax.device_put(jax.device_put(x, GPU), CPU), x, 0)

seen = []
same("pure_callback", lambda a: jax.pure_callback(lambda v: np.sort(np.asarray(v), axis=1), a, a) + 1, x)


def noted(a):
    jax.debug.callback(lambda v: seen.append(float(v)), a.sum())
    return a * 2


same("debug.callback", noted, x)
jax.effects_barrier()
assert len(seen) == 2 and abs(seen[0] - seen[1]) < 1e-2, seen
same("io_callback", lambda a: jax.experimental.io_callback(lambda v: np.float32(v.max()), jnp.float32(0), a) * a, x)
