// SPDX-License-Identifier: GPL-2.0
#include "observe.h"

#include "pagemill_observe.h"

static unsigned char table[PAGEMILL_OBSERVE_TABLE_BYTES]
	__attribute__((aligned(PAGEMILL_OBSERVE_TABLE_BYTES)));

void observe_begin(void)
{
	PAGEMILL_OBSERVE(PAGEMILL_OBSERVE_BEGIN, table);
}

void observe_end(const char *name)
{
	for (; *name; name++)
		PAGEMILL_OBSERVE(PAGEMILL_OBSERVE_CHAR, table + (unsigned char)*name);
	PAGEMILL_OBSERVE(PAGEMILL_OBSERVE_END, table);
}
