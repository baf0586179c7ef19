/* SPDX-License-Identifier: GPL-2.0 */
/* Messages to the plugin that watches the emulated machine; without it they have no effect. */
#ifndef PAGEMILL_GUEST_OBSERVE_H
#define PAGEMILL_GUEST_OBSERVE_H

/* Counters start at 0, with empty caches. */
void observe_begin(void);
/* Counters are reported as `NAME.task1.l2_misses` and so on. */
void observe_end(const char *name);

#endif
