// SPDX-License-Identifier: GPL-2.0
/* A program like any other, of which it is known what it refers to: 2 MiB of its heap, line by line, 8 times. */
#include <stdio.h>
#include <stdlib.h>

#define BYTES  (2 << 20)
#define LINE   64
#define PASSES 8

int main(void)
{
	volatile unsigned char *memory = calloc(1, BYTES);
	unsigned long sum = 0;

	for (int pass = 0; memory && pass < PASSES; pass++)
		for (int i = 0; i < BYTES; i += LINE)
			sum += ++memory[i];
	printf("%lu\n", sum);
	return sum != PASSES * (PASSES + 1) / 2 * (BYTES / LINE);
}
