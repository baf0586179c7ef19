/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A cache of each CPU before one that all share, least recently used lines
 * going first, and whose lines meet there. Only data, by physical address; no
 * coherence: a line may be in several first caches.
 */
#ifndef PAGEMILL_PLUGIN_CACHE_CORE_H
#define PAGEMILL_PLUGIN_CACHE_CORE_H

#include "../include/kport.h"

#define PCC_CPUS_MAX   16
#define PCC_TASKS_MAX  32 /* task 0: frames without a task; the last one: all further tasks */
#define PCC_COLORS_MAX 1024
#define PCC_FRAMES_MAX (1UL << 20) /* 4 GiB; frames above have no task */
#define PCC_PAGE_SHIFT 12

struct pcc_geometry {
	u64 bytes;
	u32 ways;
	u32 line_bytes;
};

/* Lines by set, the most recently used first. 0: none; else the line's number and 1. */
struct pcc_cache {
	u64 *lines;
	u32 sets;
	u32 ways;
	u32 line_shift;
};

/* A reference is of the task that owns the frame, whichever CPU makes it. */
struct pcc_task {
	u64 user_references; /* by addresses of the lower half */
	u64 kernel_references;
	u64 first_misses;
	u64 shared_misses;
	u64 misses_by_color[PCC_COLORS_MAX]; /* of the shared cache */
	u64 evicted[PCC_TASKS_MAX];	     /* lines of each task that made room for this one's */
};

/* Told of each line that is not in the first cache, by the address of its first byte. */
typedef void (*pcc_missed)(u64 address, u32 bytes, u32 task);

struct pcc_core {
	pcc_missed first_missed; /* NULL: none */
	struct pcc_cache first[PCC_CPUS_MAX];
	struct pcc_cache shared;
	u32 colors;
	u32 only_task; /* 0, or the task that owns all frames */
	struct pcc_task task[PCC_TASKS_MAX];
	u16 owner[PCC_FRAMES_MAX];
};

struct pcc_core *pcc_new(struct pcc_geometry first, struct pcc_geometry shared);
void pcc_free(struct pcc_core *core);
void pcc_begin(struct pcc_core *core);
void pcc_own(struct pcc_core *core, u64 address, u32 task);
u32 pcc_owner(const struct pcc_core *core, u64 address);
void pcc_access(struct pcc_core *core, u32 cpu, u64 address, u32 bytes, bool kernel);

#endif
