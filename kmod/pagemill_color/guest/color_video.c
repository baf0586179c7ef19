// SPDX-License-Identifier: GPL-2.0
/*
 * Writes frames of 352 x 288 to standard output, planar YUV 4:2:0: moving
 * stripes, and noise, the same in every run.
 *
 *   color_video FRAMES
 */
#include <stdio.h>
#include <stdlib.h>

#include "guest.h"

#define WIDTH  352
#define HEIGHT 288

static void put_brightness(int frame, uint64_t *state)
{
	for (int y = 0; y < HEIGHT; y++)
		for (int x = 0; x < WIDTH; x++) {
			int slope = (x + 3 * frame) * (y + frame) / 64;
			int stripe = (x + 2 * frame) / 16 % 2 * 40;

			putchar(slope + stripe + guest_random(state) % 16);
		}
}

int main(int argc, char **argv)
{
	int frames = argc == 2 ? atoi(argv[1]) : 0;
	uint64_t state = 1;

	for (int frame = 0; frame < frames; frame++) {
		put_brightness(frame, &state);
		for (int i = 0; i < WIDTH * HEIGHT / 2; i++)
			putchar(128 + (i + frame) % 32);
	}
	if (!frames || fflush(stdout))
		guest_fail("usage: color_video FRAMES >FILE");
	return 0;
}
