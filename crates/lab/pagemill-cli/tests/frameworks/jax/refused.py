"""A convolution by cuDNN is refused by the name of the function, and the program gets on."""

import jax
import jax.numpy as jnp
from beside_cpu import normal, same

image, kernel = normal(1, 3, 32, 32), normal(8, 3, 3, 3, seed=8)
try:
    jax.jit(lambda a, k: jax.lax.conv(a, k, (1, 1), "SAME"))(image, kernel).block_until_ready()
except Exception as error:  # noqa: BLE001
    print(f"refused: {error}")
else:
    raise SystemExit("a convolution has no refusal")
same("afterwards", lambda a: jnp.sin(a), image)
