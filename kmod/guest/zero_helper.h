/* SPDX-License-Identifier: GPL-2.0 */
/* The helper's side of pagemill_zero, and helpers that can be killed. */
#ifndef PAGEMILL_ZERO_HELPER_H
#define PAGEMILL_ZERO_HELPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "pagemill_zero.h"

#define ZERO_DEVICE "/dev/" PAGEMILL_ZERO_DEVICE
#define ZERO_SYSFS  "/sys/class/misc/" PAGEMILL_ZERO_DEVICE "/"

/* What a helper does with a piece. */
enum zero_engine {
	ZERO_ENGINE_STORES,  /* cleans it */
	ZERO_ENGINE_NONE,    /* says it did */
	ZERO_ENGINE_STUCK,   /* says nothing */
	ZERO_ENGINE_LATE,    /* cleans it after a while */
	ZERO_ENGINE_HOSTILE, /* writes rubbish into the ring, and lies */
};

struct zero_window {
	struct pagemill_zero_ring *ring;
	char *window;
	uint64_t cursor; /* the sequence number to look at next */
	int fd;
};

/* Opens and maps; 0 or the error number. */
int zero_window_open(struct zero_window *window);

/* Works until it is killed. `busy`: polls the ring and never sleeps. */
__attribute__((noreturn)) void zero_helper_serve(struct zero_window *window,
						 enum zero_engine engine, bool busy);

/* Forks a helper, and returns when it is attached. */
pid_t zero_helper_start(enum zero_engine engine, bool busy);
/* Another program that is a helper. */
pid_t zero_helper_run(const char *command);
void zero_helper_kill(pid_t helper);

/* A counter of the module; its mode, which must be accepted. */
uint64_t zero_counter(const char *name);
void zero_set(const char *attribute, const char *text);

#endif
