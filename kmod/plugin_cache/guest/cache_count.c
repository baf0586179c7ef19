// SPDX-License-Identifier: GPL-2.0
/*
 * Sends messages to the plugin that watches the emulated machine, for shell scripts.
 *
 *   cache_count begin       counters start at 0, with empty caches
 *   cache_count end NAME    counters are reported as NAME.task1.l2_misses and so on
 */
#include <string.h>

#include "guest.h"
#include "observe.h"

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "begin"))
		observe_begin();
	else if (argc == 3 && !strcmp(argv[1], "end"))
		observe_end(argv[2]);
	else
		guest_fail("usage: cache_count begin | end NAME");
	return 0;
}
