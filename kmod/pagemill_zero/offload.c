// SPDX-License-Identifier: GPL-2.0
/* Clearing by the helper, from within the fault. */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/sched.h>

#include "internal.h"

/* A wait of less than this does not sleep. */
#define SPIN_NS (200 * NSEC_PER_USEC)

/* Pieces of one page that are with the helper, oldest first. */
struct pieces {
	unsigned long next_pfn;
	unsigned long end_pfn;
	unsigned int first; /* of entry[], a ring of its own */
	unsigned int count;
	struct {
		unsigned long pfn;
		unsigned int index;
	} entry[PAGEMILL_ZERO_ENTRIES / 2];
};

static void post_what_fits(struct pieces *pieces)
{
	while (pieces->next_pfn < pieces->end_pfn && pieces->count < ARRAY_SIZE(pieces->entry)) {
		unsigned int at = (pieces->first + pieces->count) % ARRAY_SIZE(pieces->entry);
		int index = pmz_window_post(pieces->next_pfn, PMZ_WAITER, 0);

		if (index < 0)
			return;
		pieces->entry[at].pfn = pieces->next_pfn;
		pieces->entry[at].index = index;
		pieces->count++;
		pieces->next_pfn += PMZ_PIECE_FRAMES;
	}
}

static void wait_for(unsigned int index)
{
	u64 start_ns = ktime_get_ns();
	u64 deadline_ns = (u64)READ_ONCE(pmz_deadline_us) * NSEC_PER_USEC;
	u64 waited_ns = 0;

	while (!pmz_window_is_done(index) && waited_ns < deadline_ns) {
		if (waited_ns < SPIN_NS && num_online_cpus() > 1)
			cpu_relax();
		else
			usleep_range(5, 20);
		waited_ns = ktime_get_ns() - start_ns;
	}
}

/* Takes the oldest piece back, clean: by the CPU if need be. True if it was not. */
static bool settle_oldest(struct pieces *pieces)
{
	unsigned int index = pieces->entry[pieces->first].index;
	unsigned long pfn = pieces->entry[pieces->first].pfn;
	bool clean;

	wait_for(index);
	pmz_window_take_back(index, &clean);
	pieces->first = (pieces->first + 1) % ARRAY_SIZE(pieces->entry);
	pieces->count--;
	if (!clean)
		pmz_clear_piece(pfn);
	return clean;
}

/*
 * Returns when the page is clean, by the helper or the kernel. False if the helper did
 * not even get a first piece: then nothing was done.
 */
bool pmz_offload_wait(struct folio *folio)
{
	struct pieces pieces = { .next_pfn = folio_pfn(folio) };
	bool helped = true;

	pieces.end_pfn = pieces.next_pfn + folio_nr_pages(folio);
	post_what_fits(&pieces);
	if (!pieces.count)
		return false;
	while (pieces.count || pieces.next_pfn < pieces.end_pfn) {
		if (pieces.count) {
			helped &= settle_oldest(&pieces);
		} else {
			pmz_clear_piece(pieces.next_pfn);
			pieces.next_pfn += PMZ_PIECE_FRAMES;
			helped = false;
		}
		post_what_fits(&pieces);
	}
	pmz_count(helped ? PMZ_FAULTS_HELPER : PMZ_FAULTS_CPU);
	return true;
}

/*
 * UNSAFE, on purpose: returns before the page is clean. Its user can read what
 * the page held, and loses what it writes before the helper comes. Each piece
 * holds a reference, so that no other user of the frame is hurt.
 */
void pmz_offload_async(struct folio *folio)
{
	unsigned long pfn = folio_pfn(folio);
	unsigned long end_pfn = pfn + folio_nr_pages(folio);

	for (; pfn < end_pfn; pfn += PMZ_PIECE_FRAMES) {
		folio_get(folio);
		if (pmz_window_post(pfn, PMZ_ASYNC, 0) < 0) {
			folio_put(folio);
			pmz_clear_piece(pfn);
		}
	}
	pmz_count(PMZ_FAULTS_ASYNC);
}
