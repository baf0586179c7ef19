/* SPDX-License-Identifier: GPL-2.0 */
/* Which memory of a process is colored, and where it is, as the kernel reports it. */
#ifndef PAGEMILL_COLOR_VIEW_H
#define PAGEMILL_COLOR_VIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "pagemill_color.h"

struct color_view {
	uint64_t colored_pages; /* with a frame, in mappings of the module */
	uint64_t outside_pages; /* of these, in a color that is not in the set */
	uint64_t plain_pages;	/* of the C library's own heap */
};

/* Another process must be stopped meanwhile. False if there is no such process any more. */
bool color_look_at(pid_t process, unsigned int colors, const struct pagemill_color_set *set,
		   struct color_view *view);

/* Whether these bytes of this process are in one mapping of the module. */
bool color_is_colored(const void *at, size_t bytes);

/* The space that this process has been given; -1 if none. */
int color_own_space(void);

#endif
