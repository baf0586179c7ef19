// SPDX-License-Identifier: GPL-2.0
/*
 * Cleaning pages while they are free.
 *
 * A dirty page is taken off the free list as the kernel's own allocation does
 * it (dequeue_hugetlb_folio_node_exact), cleaned by the helper, and freed again.
 * While it is away it can neither be handed out nor be dissolved. Pages that a
 * mapping has reserved are never taken, nor the last `keep_free` of the rest; and
 * a caller that finds too few calls back what is away (shortage.c).
 */
#include <linux/page_ref.h>
#include <linux/workqueue.h>

#include "internal.h"

/* The helper has this long, whatever engine it uses. */
#define POOL_DEADLINE_NS (5ULL * NSEC_PER_SEC)

/* Pages that the list lock is held for. */
#define STEPS_PER_LOCK	 128

struct pool_page {
	struct folio *folio; /* NULL: unused */
	struct pmz_job job;
};

static struct pool_page pool[PAGEMILL_ZERO_ENTRIES];
static DEFINE_MUTEX(pool_lock);
static struct workqueue_struct *queue;
static bool maybe_dirty; /* a search could find something */
static bool active;	 /* some page may be away */

static void pool_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(work, pool_work);

static void take_off_list(struct hstate *h, struct folio *folio, int node)
{
	list_move(&folio->lru, &h->hugepage_activelist);
	set_page_count(&folio->page, 1);
	folio_clear_hugetlb_freed(folio);
	h->free_huge_pages--;
	h->free_huge_pages_node[node]--;
}

/*
 * Looks at the tail of the free list and moves what is clean to the front,
 * where allocations take from: the list is its own place marker.
 */
static struct folio *take_dirty_locked(struct hstate *h, int node, unsigned long *left)
{
	struct list_head *list = &h->hugepage_freelists[node];
	unsigned int step;

	for (step = 0; step < STEPS_PER_LOCK && *left; step++, --*left) {
		struct folio *folio;

		if (list_empty(list) || h->free_huge_pages <= h->resv_huge_pages + pmz_keep_free) {
			*left = 0;
			return NULL;
		}
		folio = list_last_entry(list, struct folio, lru);
		if (!pmz_mark_is_set(folio) && !folio_test_hwpoison(folio)) {
			take_off_list(h, folio, node);
			return folio;
		}
		list_move(&folio->lru, list);
	}
	return NULL;
}

static struct folio *take_dirty_of(struct hstate *h, int node)
{
	unsigned long left = READ_ONCE(h->free_huge_pages_node[node]);
	struct folio *folio = NULL;

	while (left && !folio) {
		spin_lock_irq(pmz_symbols.hugetlb_lock);
		folio = take_dirty_locked(h, node, &left);
		spin_unlock_irq(pmz_symbols.hugetlb_lock);
		cond_resched();
	}
	return folio;
}

/* A dirty free page of any size, or NULL. */
static struct folio *take_dirty(void)
{
	struct hstate *h = pmz_symbols.hstates;
	struct hstate *end = h + *pmz_symbols.hugetlb_max_hstate;
	int node;

	for (; h < end; h++) {
		if (pages_per_huge_page(h) < PMZ_PIECE_FRAMES)
			continue;
		for_each_online_node(node) {
			struct folio *folio = take_dirty_of(h, node);

			if (folio)
				return folio;
		}
	}
	return NULL;
}

/* By a call of ours, so that the mark is not dropped on the way. */
static void put_back(struct folio *folio, bool clean)
{
	if (clean)
		pmz_mark_set(folio);
	if (folio_put_testzero(folio))
		pmz_symbols.free(folio);
	/* Who waits for the counter may ask for the page at once. */
	if (clean)
		pmz_count(PMZ_POOL_CLEANED);
}

static void settle(struct pool_page *held)
{
	struct folio *folio = held->folio;

	if (!pmz_job_is_over(&held->job))
		return;
	held->folio = NULL;
	if (!pmz_job_is_clean(&held->job))
		WRITE_ONCE(maybe_dirty, true);
	put_back(folio, pmz_job_is_clean(&held->job));
}

static void post_pieces(struct pool_page *held)
{
	unsigned long pfn = folio_pfn(held->folio);
	unsigned int job = held - pool;

	while (pmz_job_wants_post(&held->job)) {
		unsigned long piece = pfn + held->job.next * PMZ_PIECE_FRAMES;

		if (pmz_window_post(piece, PMZ_POOL, job) < 0)
			return;
		pmz_job_posted(&held->job);
	}
}

static unsigned int reap(bool everything)
{
	unsigned int count = 0;
	struct pmz_slot slot;
	bool clean;

	while (pmz_window_reap(everything, POOL_DEADLINE_NS, &slot, &clean)) {
		count++;
		if (slot.owner == PMZ_ASYNC) {
			folio_put(pfn_folio(slot.pfn));
			continue;
		}
		pmz_job_returned(&pool[slot.job].job, clean);
		settle(&pool[slot.job]);
	}
	return count;
}

/* Pages whose clearing was given up return as they are. */
static void give_up(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pool); i++) {
		if (!pool[i].folio || pool[i].job.outstanding)
			continue;
		pool[i].job.spoiled = true;
		settle(&pool[i]);
	}
}

static void refill(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pool) && pmz_window_may_post(); i++) {
		struct pool_page *held = &pool[i];

		if (!held->folio) {
			if (!READ_ONCE(maybe_dirty))
				continue;
			WRITE_ONCE(maybe_dirty, false);
			held->folio = take_dirty();
			if (!held->folio)
				continue;
			WRITE_ONCE(maybe_dirty, true);
			memset(&held->job, 0, sizeof(held->job));
			held->job.pieces = folio_nr_pages(held->folio) / PMZ_PIECE_FRAMES;
		}
		post_pieces(held);
	}
}

static bool holds_pages(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pool); i++)
		if (pool[i].folio)
			return true;
	return false;
}

/* Takes back and posts. Returns how many pieces came back. */
unsigned int pmz_pool_run(void)
{
	unsigned int count;

	mutex_lock(&pool_lock);
	count = reap(false);
	if (READ_ONCE(pmz_mode) == PMZ_MODE_POOL) {
		WRITE_ONCE(active, true);
		refill();
	}
	if (READ_ONCE(pmz_mode) != PMZ_MODE_POOL || !pmz_window_is_usable())
		give_up();
	WRITE_ONCE(active, holds_pages());
	/* For the deadlines. */
	if (active)
		queue_delayed_work(queue, &work, msecs_to_jiffies(50));
	mutex_unlock(&pool_lock);
	return count;
}

static void pool_work(struct work_struct *unused)
{
	pmz_pool_run();
}

/* Something may be dirty. From any context. */
void pmz_pool_kick(void)
{
	WRITE_ONCE(maybe_dirty, true);
	queue_delayed_work(queue, &work, msecs_to_jiffies(10));
}

/* Whether some page may be away. */
bool pmz_pool_is_active(void)
{
	return READ_ONCE(active) || READ_ONCE(pmz_mode) == PMZ_MODE_OFFLOAD_ASYNC;
}

/*
 * Everything that is away comes back, as it is, and nothing is taken until
 * pmz_pool_go_on. Sleeps.
 */
void pmz_pool_recall(void)
{
	mutex_lock(&pool_lock);
	if (holds_pages())
		pmz_count(PMZ_RECALLS);
	reap(true);
	give_up();
	WRITE_ONCE(active, false);
}

void pmz_pool_go_on(void)
{
	mutex_unlock(&pool_lock);
	if (READ_ONCE(pmz_mode) == PMZ_MODE_POOL)
		pmz_pool_kick();
}

/* Whether the list of free pages can be reached. */
bool pmz_pool_is_possible(void)
{
	return pmz_symbols.hugetlb_lock;
}

int pmz_pool_init(void)
{
	queue = alloc_workqueue("pagemill_zero", WQ_UNBOUND, 1);
	return queue ? 0 : -ENOMEM;
}

/* No hook is left that could kick. */
void pmz_pool_exit(void)
{
	cancel_delayed_work_sync(&work);
	destroy_workqueue(queue);
}
