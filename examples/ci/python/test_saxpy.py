"""y = a x + y with numba-cuda, compared with NumPy."""

import unittest

import numpy as np
from numba import cuda


@cuda.jit
def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] += a * x[i]


class Saxpy(unittest.TestCase):
    def test_sums_are_those_of_numpy(self):
        for n in (1, 255, 256, 1000):
            with self.subTest(n=n):
                x = np.arange(n, dtype=np.float32) % 7
                y = np.arange(n, dtype=np.float32) % 5
                on_gpu = cuda.to_device(y)
                saxpy[(n + 255) // 256, 256](np.float32(2), cuda.to_device(x), on_gpu)
                np.testing.assert_array_equal(on_gpu.copy_to_host(), 2 * x + y)


if __name__ == "__main__":
    unittest.main()
