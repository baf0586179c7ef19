/* SPDX-License-Identifier: GPL-2.0 */
/* What tests of core.c in user space share. */
#ifndef PAGEMILL_USERTEST_H
#define PAGEMILL_USERTEST_H

#include <stdio.h>
#include <stdlib.h>

#include "kport.h"

static unsigned int round_now;

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: round %u: %s\n", __FILE__, __LINE__, round_now,    \
				#condition);                                                       \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* The same numbers in every run (splitmix64). */
static inline u64 next_random(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

#endif
