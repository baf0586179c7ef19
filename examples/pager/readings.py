"""A year of readings, held in memory a day at a time: what a memory budget is good for.

    python3 examples/pager/readings.py                                                              # 366 MiB
    pagemill pager run --memory 48MiB --to compressed -- python3 examples/pager/readings.py

The readings are written in order, read in order, and compress well: four small numbers in 32 bytes. A program that jumps about in its
memory, or whose bytes do not compress, gains nothing: see docs/pager.md.
"""

from array import array

DAYS, READINGS = 366, 1 << 17

year = array("q", [0]) * (DAYS * READINGS)
day_shape = array("q", (abs(READINGS // 2 - second) >> 10 for second in range(READINGS)))
for day in range(DAYS):
    day_shape[0] = day
    year[day * READINGS : (day + 1) * READINGS] = day_shape

quarters = [0, 91, 183, 274, DAYS]
for number, (first, end) in enumerate(zip(quarters, quarters[1:]), start=1):
    total = sum(sum(memoryview(year)[day * READINGS : (day + 1) * READINGS]) for day in range(first, end))
    print(f"quarter {number}: mean {total / ((end - first) * READINGS):.2f}")
