/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's side of the ring: which piece is where, who waits for it, and
 * whether the helper can be relied upon. No call into the kernel; the caller
 * holds a lock over every function but pmz_core_is_done.
 *
 * Nothing here is decided by what the helper wrote, except whether a piece is
 * said to be clean.
 */
#ifndef PAGEMILL_ZERO_CORE_H
#define PAGEMILL_ZERO_CORE_H

#include "../include/kport.h"
#include "pagemill_zero.h"

/* So many deadlines in a row, and nothing is posted until the helper calls. */
#define PMZ_MISSES_MAX 3

enum pmz_state {
	PMZ_FREE,    /* nothing here */
	PMZ_POSTED,  /* the helper may touch the piece */
	PMZ_LEAVING, /* the helper may touch it no more, and may still have it mapped */
};

/* Who takes the piece back. */
enum pmz_owner {
	PMZ_WAITER, /* a fault that waits */
	PMZ_POOL,   /* the pool: no process waits */
	PMZ_ASYNC,  /* no process waits, and the page is already in use */
};

struct pmz_slot {
	u64 seq;
	u64 posted_ns;
	unsigned long pfn; /* first frame of the piece */
	unsigned int job;  /* of the pool */
	enum pmz_state state;
	enum pmz_owner owner;
};

struct pmz_core {
	struct pmz_slot slot[PAGEMILL_ZERO_ENTRIES];
	struct pagemill_zero_ring *ring; /* the helper writes here too */
	u64 head;
	unsigned int misses; /* deadlines in a row */
	bool attached;
};

/* A page in the making: pieces are posted in order and come back in any. */
struct pmz_job {
	unsigned int pieces;
	unsigned int next;	  /* piece to post */
	unsigned int outstanding; /* posted, not back */
	bool spoiled;		  /* a piece came back dirty */
};

void pmz_core_init(struct pmz_core *core, struct pagemill_zero_ring *ring);
void pmz_core_attach(struct pmz_core *core);
void pmz_core_detach(struct pmz_core *core);

bool pmz_core_is_usable(const struct pmz_core *core);
bool pmz_core_may_post(const struct pmz_core *core);
int pmz_core_post(struct pmz_core *core, unsigned long pfn, enum pmz_owner owner, unsigned int job,
		  u64 now_ns);
bool pmz_core_is_done(const struct pmz_core *core, unsigned int index);
bool pmz_core_is_due(const struct pmz_core *core, unsigned int index, u64 now_ns, u64 deadline_ns);
bool pmz_core_has_work(const struct pmz_core *core);
bool pmz_core_window_pfn(const struct pmz_core *core, unsigned int index, unsigned long *pfn);
bool pmz_core_begin_leave(struct pmz_core *core, unsigned int index);
void pmz_core_end_leave(struct pmz_core *core, unsigned int index);

void pmz_core_missed(struct pmz_core *core);
void pmz_core_alive(struct pmz_core *core);

bool pmz_job_wants_post(const struct pmz_job *job);
bool pmz_job_is_over(const struct pmz_job *job);
bool pmz_job_is_clean(const struct pmz_job *job);
void pmz_job_posted(struct pmz_job *job);
void pmz_job_returned(struct pmz_job *job, bool clean);

#endif
