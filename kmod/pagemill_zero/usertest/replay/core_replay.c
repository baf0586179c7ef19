// SPDX-License-Identifier: GPL-2.0
/*
 * core.c, one command a line, one answer a line: for comparing it with the
 * policy that decides the same elsewhere.
 *
 *   post PFN        entry, or -1
 *   serve ENTRY     a helper cleans what is posted there: 1, or 0 if nothing is
 *   window ENTRY    the frame that the helper can touch, or -1
 *   leave ENTRY     forbids touching: 1, or 0 if that was done
 *   end ENTRY       1 if the helper had cleaned it, else 0; the entry is free
 *   reset           a new ring, a new helper: 0
 */
#include <stdio.h>
#include <stdlib.h>

#include "core.h"

static struct pmz_core core;
static struct pagemill_zero_ring ring;

static int serve(unsigned int index)
{
	u64 posted = ring.entry[index].posted;

	if (!posted)
		return 0;
	ring.entry[index].done = posted;
	return 1;
}

static long window(unsigned int index)
{
	unsigned long pfn;

	return pmz_core_window_pfn(&core, index, &pfn) ? (long)pfn : -1;
}

static int end(unsigned int index)
{
	bool done = pmz_core_is_done(&core, index);

	pmz_core_end_leave(&core, index);
	return done;
}

static int reset(void)
{
	pmz_core_init(&core, &ring);
	pmz_core_attach(&core);
	return 0;
}

int main(void)
{
	char command[16];
	unsigned long number;

	reset();
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (scanf("%15s %lu", command, &number) == 2) {
		long answer;

		if (!strcmp(command, "post")) {
			answer = pmz_core_post(&core, number, PMZ_WAITER, 0, 0);
			answer = answer < 0 ? -1 : answer;
		} else if (!strcmp(command, "reset")) {
			answer = reset();
		} else if (number >= PAGEMILL_ZERO_ENTRIES) {
			return 2;
		} else if (!strcmp(command, "serve")) {
			answer = serve(number);
		} else if (!strcmp(command, "window")) {
			answer = window(number);
		} else if (!strcmp(command, "leave")) {
			answer = pmz_core_begin_leave(&core, number);
		} else if (!strcmp(command, "end")) {
			answer = end(number);
		} else {
			return 2;
		}
		printf("%ld\n", answer);
	}
	return 0;
}
