// SPDX-License-Identifier: GPL-2.0
/* The ring and its state machine; see core.h. */
#include "core.h"

static unsigned int index_of(u64 seq)
{
	return seq % PAGEMILL_ZERO_ENTRIES;
}

void pmz_core_init(struct pmz_core *core, struct pagemill_zero_ring *ring)
{
	memset(core, 0, sizeof(*core));
	memset(ring, 0, sizeof(*ring));
	core->ring = ring;
	core->head = 1;
	ring->magic = PAGEMILL_ZERO_MAGIC;
	ring->version = PAGEMILL_ZERO_VERSION;
	ring->entries = PAGEMILL_ZERO_ENTRIES;
	ring->head = core->head;
}

/*
 * A new helper. Numbers go on where they were, so that nothing which a former
 * helper wrote can pass for an answer of this one.
 */
void pmz_core_attach(struct pmz_core *core)
{
	unsigned int i;

	for (i = 0; i < PAGEMILL_ZERO_ENTRIES; i++) {
		WRITE_ONCE(core->ring->entry[i].posted, 0);
		WRITE_ONCE(core->ring->entry[i].done, 0);
	}
	WRITE_ONCE(core->ring->sleeping, 0);
	WRITE_ONCE(core->ring->head, core->head);
	core->misses = 0;
	core->attached = true;
}

/* No more posts; what is posted is still to be taken back. */
void pmz_core_detach(struct pmz_core *core)
{
	core->attached = false;
}

/* Whether there is a helper that keeps its deadlines. */
bool pmz_core_is_usable(const struct pmz_core *core)
{
	return core->attached && core->misses < PMZ_MISSES_MAX;
}

/* Whether a post can succeed now. */
bool pmz_core_may_post(const struct pmz_core *core)
{
	return pmz_core_is_usable(core) && core->slot[index_of(core->head)].state == PMZ_FREE;
}

/* Posts a piece. Its entry, or -EAGAIN. */
int pmz_core_post(struct pmz_core *core, unsigned long pfn, enum pmz_owner owner, unsigned int job,
		  u64 now_ns)
{
	unsigned int index = index_of(core->head);
	struct pmz_slot *slot = &core->slot[index];
	struct pagemill_zero_entry *entry = &core->ring->entry[index];

	if (!pmz_core_may_post(core))
		return -EAGAIN;
	slot->seq = core->head++;
	slot->posted_ns = now_ns;
	slot->pfn = pfn;
	slot->job = job;
	slot->owner = owner;
	slot->state = PMZ_POSTED;
	WRITE_ONCE(entry->flags, owner == PMZ_WAITER ? 0 : PAGEMILL_ZERO_NEEDS_REAP);
	smp_store_release(&entry->posted, slot->seq);
	smp_store_release(&core->ring->head, core->head);
	return index;
}

/* Whether the helper says that it is clean. Only for who posted it: no lock. */
bool pmz_core_is_done(const struct pmz_core *core, unsigned int index)
{
	return smp_load_acquire(&core->ring->entry[index].done) == core->slot[index].seq;
}

/* Whether a piece has been posted for as long as the deadline allows. */
bool pmz_core_is_due(const struct pmz_core *core, unsigned int index, u64 now_ns, u64 deadline_ns)
{
	return now_ns - core->slot[index].posted_ns >= deadline_ns;
}

/* Whether the helper has something to do: what poll(2) asks. */
bool pmz_core_has_work(const struct pmz_core *core)
{
	unsigned int i;

	for (i = 0; i < PAGEMILL_ZERO_ENTRIES; i++)
		if (core->slot[i].state == PMZ_POSTED && !pmz_core_is_done(core, i))
			return true;
	return false;
}

/* What the window shows at an entry, if anything. */
bool pmz_core_window_pfn(const struct pmz_core *core, unsigned int index, unsigned long *pfn)
{
	if (index >= PAGEMILL_ZERO_ENTRIES || core->slot[index].state != PMZ_POSTED)
		return false;
	*pfn = core->slot[index].pfn;
	return true;
}

/*
 * From here on the window shows nothing at this entry. False if another CPU
 * is taking it back, or has.
 */
bool pmz_core_begin_leave(struct pmz_core *core, unsigned int index)
{
	if (core->slot[index].state != PMZ_POSTED)
		return false;
	core->slot[index].state = PMZ_LEAVING;
	WRITE_ONCE(core->ring->entry[index].posted, 0);
	return true;
}

/* The piece is unmapped: the entry can be used again. */
void pmz_core_end_leave(struct pmz_core *core, unsigned int index)
{
	core->slot[index].state = PMZ_FREE;
	core->slot[index].pfn = 0;
}

/* A deadline passed, or content was wrong. */
void pmz_core_missed(struct pmz_core *core)
{
	if (core->misses < PMZ_MISSES_MAX)
		core->misses++;
}

/* The helper kept a deadline, or called. */
void pmz_core_alive(struct pmz_core *core)
{
	core->misses = 0;
}

/* Whether another piece should be posted. */
bool pmz_job_wants_post(const struct pmz_job *job)
{
	return !job->spoiled && job->next < job->pieces;
}

/* Whether nothing is outstanding and nothing will be. */
bool pmz_job_is_over(const struct pmz_job *job)
{
	return !job->outstanding && !pmz_job_wants_post(job);
}

/* Whether the whole page is clean, once over. */
bool pmz_job_is_clean(const struct pmz_job *job)
{
	return pmz_job_is_over(job) && !job->spoiled;
}

void pmz_job_posted(struct pmz_job *job)
{
	job->next++;
	job->outstanding++;
}

void pmz_job_returned(struct pmz_job *job, bool clean)
{
	job->outstanding--;
	job->spoiled |= !clean;
}
