// SPDX-License-Identifier: GPL-2.0
/*
 * Free frames, by color. They come from the kernel in large blocks, which hold
 * every color equally often, and go back one by one: when there are more than
 * are to be kept, or when the kernel is short of memory.
 *
 * Lock order: refill_lock, then stock_lock. Nothing sleeps below stock_lock,
 * and the shrinker takes nothing else.
 */
#include <linux/atomic.h>
#include <linux/log2.h>
#include <linux/math64.h>

#include "../include/kcompat.h"
#include "internal.h"

#define MIB_PAGES     (1UL << (20 - PAGE_SHIFT))
#define FREED_AT_ONCE 64

static DEFINE_SPINLOCK(stock_lock);
static DEFINE_MUTEX(refill_lock);

static struct {
	struct list_head frames[PMC_COLORS_MAX]; /* by page->lru */
	u32 counts[PMC_COLORS_MAX];
	u64 stocked;
	u64 used;
	u64 coming; /* asked of the kernel, and not here yet */
	u64 limit;
	u64 keep;
	u64 taken_blocks;
	u64 refused_blocks;
	u64 shrunk;
} stock;

/* Below stock_lock. */
static void add(struct page *page)
{
	u32 color = pmc_page_color(page);

	list_add(&page->lru, &stock.frames[color]);
	stock.counts[color]++;
	stock.stocked++;
}

/* Below stock_lock. */
static struct page *remove(u32 color)
{
	struct page *page = list_first_entry_or_null(&stock.frames[color], struct page, lru);

	if (!page)
		return NULL;
	list_del(&page->lru);
	stock.counts[color]--;
	stock.stocked--;
	return page;
}

/* Below stock_lock: the most frames that a color has. */
static u32 most_frames(void)
{
	u32 color, most = 0;

	for (color = 0; color < pmc_colors; color++)
		most = max(most, stock.counts[color]);
	return most;
}

/* Below stock_lock: one frame of each color that has as many as any. */
static u32 skim(struct list_head *skimmed, u32 limit)
{
	u32 most = most_frames(), color, count = 0;

	for (color = 0; most && color < pmc_colors && count < limit; color++) {
		if (stock.counts[color] < most)
			continue;
		list_add(&remove(color)->lru, skimmed);
		count++;
	}
	return count;
}

static void free_all(struct list_head *frames)
{
	struct page *page, *next;

	list_for_each_entry_safe(page, next, frames, lru) {
		list_del(&page->lru);
		__free_page(page);
	}
}

/* Gives up to `pages` back to the kernel, from the colors that have most. */
static u64 give_back(u64 pages)
{
	u64 freed = 0;

	while (freed < pages) {
		u32 limit = min_t(u64, pages - freed, FREED_AT_ONCE);
		LIST_HEAD(skimmed);
		u32 count;

		spin_lock(&stock_lock);
		count = skim(&skimmed, limit);
		spin_unlock(&stock_lock);
		if (!count)
			break;
		free_all(&skimmed);
		freed += count;
	}
	return freed;
}

/* Gives back what is more than `keep`. */
static void trim(u64 keep)
{
	u64 stocked = READ_ONCE(stock.stocked);

	if (stocked > keep)
		give_back(stocked - keep);
}

static unsigned long shrink_count(struct shrinker *shrinker, struct shrink_control *control)
{
	return READ_ONCE(stock.stocked) ?: SHRINK_EMPTY;
}

static unsigned long shrink_scan(struct shrinker *shrinker, struct shrink_control *control)
{
	u64 freed = give_back(control->nr_to_scan);

	spin_lock(&stock_lock);
	stock.shrunk += freed;
	spin_unlock(&stock_lock);
	return freed ?: SHRINK_STOP;
}

static const struct shrinker shrinker_calls = {
	.count_objects = shrink_count,
	.scan_objects = shrink_scan,
	.seeks = DEFAULT_SEEKS,
};

static struct shrinker *shrinker;

/* A frame of `color`, with old content; NULL if none is in stock. */
struct page *pmc_stock_take(u32 color)
{
	struct page *page;

	spin_lock(&stock_lock);
	page = remove(color);
	if (page)
		stock.used++;
	spin_unlock(&stock_lock);
	return page;
}

/*
 * Frames are charged to the control group of who makes the stock take them
 * from the kernel, until they go back to it.
 */
#define FRAME_GFP (GFP_HIGHUSER | __GFP_ACCOUNT | __GFP_NOWARN | __GFP_NORETRY)

/* Below stock_lock: whether so many more frames are allowed. */
static bool is_room(u64 pages)
{
	return stock.stocked + stock.used + stock.coming + pages <= stock.limit;
}

/* Whether one more frame is allowed; it then counts as used. */
static bool reserve_one(void)
{
	bool allowed;

	spin_lock(&stock_lock);
	allowed = is_room(1);
	if (allowed)
		stock.used++;
	spin_unlock(&stock_lock);
	return allowed;
}

static void forget_one(void)
{
	spin_lock(&stock_lock);
	stock.used--;
	spin_unlock(&stock_lock);
}

/* Any frame: of the color that has most, or a single one of the kernel's. */
struct page *pmc_stock_take_any(void)
{
	LIST_HEAD(skimmed);
	struct page *page;
	u32 count;

	spin_lock(&stock_lock);
	count = skim(&skimmed, 1);
	stock.used += count;
	spin_unlock(&stock_lock);
	if (count)
		return list_first_entry(&skimmed, struct page, lru);
	if (!reserve_one())
		return NULL;
	page = alloc_page(FRAME_GFP);
	if (!page)
		forget_one();
	return page;
}

/* Whether a space that has so many frames may have one more. */
bool pmc_stock_allows(u64 space_pages)
{
	u64 limit;

	spin_lock(&stock_lock);
	limit = stock.limit;
	spin_unlock(&stock_lock);
	return space_pages < div_u64(limit * pmc_space_percent, 100);
}

/* A frame that is not mapped any more. */
void pmc_stock_put(struct page *page)
{
	bool kept;

	pmc_observe_owner(page, 0);
	/* Direct I/O may still write to it: the last user frees it. */
	if (page_count(page) != 1 || PageHWPoison(page)) {
		forget_one();
		put_page(page);
		return;
	}
	folio_clear_dirty(page_folio(page));
	folio_clear_referenced(page_folio(page));
	spin_lock(&stock_lock);
	stock.used--;
	kept = stock.stocked < stock.keep;
	if (kept)
		add(page);
	spin_unlock(&stock_lock);
	if (!kept)
		__free_page(page);
}

/* Whether a block is allowed; its frames then count as coming. */
static bool reserve_block(u64 pages)
{
	bool allowed;

	spin_lock(&stock_lock);
	allowed = is_room(pages);
	if (allowed)
		stock.coming += pages;
	spin_unlock(&stock_lock);
	return allowed;
}

static void forget_block(u64 pages)
{
	spin_lock(&stock_lock);
	stock.coming -= pages;
	spin_unlock(&stock_lock);
}

/* The block of this order, which then counts as coming, or NULL. */
static struct page *take_block(unsigned int order)
{
	struct page *block;

	if (!reserve_block(1UL << order))
		return NULL;
	block = alloc_pages(FRAME_GFP, order);
	if (block)
		split_page(block, order);
	else
		forget_block(1UL << order);
	return block;
}

static void add_block(struct page *block, unsigned int order)
{
	unsigned long i;

	spin_lock(&stock_lock);
	stock.coming -= 1UL << order;
	for (i = 0; i < 1UL << order; i++)
		add(block + i);
	stock.taken_blocks++;
	spin_unlock(&stock_lock);
}

/* Adds the largest block that can be had and holds every color. Below refill_lock. */
static bool add_largest_block(void)
{
	int order;

	for (order = MAX_PAGE_ORDER; order >= (int)ilog2(pmc_colors); order--) {
		struct page *block = take_block(order);

		if (block) {
			add_block(block, order);
			return true;
		}
	}
	spin_lock(&stock_lock);
	stock.refused_blocks++;
	spin_unlock(&stock_lock);
	return false;
}

/* Sees to it that there is a frame of `color`; whether that succeeded. */
bool pmc_stock_refill(u32 color)
{
	bool done;

	mutex_lock(&refill_lock);
	done = READ_ONCE(stock.counts[color]) || add_largest_block();
	/* The other colors of the block: the fullest go first, never all of one. */
	if (done)
		trim(max_t(u64, READ_ONCE(stock.keep), 2 * pmc_colors));
	mutex_unlock(&refill_lock);
	return done;
}

/* The colors of which there is a frame. */
void pmc_stock_available(struct pagemill_color_set *set)
{
	u32 color;

	memset(set, 0, sizeof(*set));
	spin_lock(&stock_lock);
	for (color = 0; color < pmc_colors; color++)
		if (stock.counts[color])
			pmc_set_add(set, color);
	spin_unlock(&stock_lock);
}

void pmc_stock_report(struct pagemill_color_stock *report, u64 *by_color)
{
	u32 color;

	spin_lock(&stock_lock);
	report->stocked_pages = stock.stocked;
	report->used_pages = stock.used;
	report->limit_pages = stock.limit;
	report->keep_pages = stock.keep;
	report->taken_blocks = stock.taken_blocks;
	report->refused_blocks = stock.refused_blocks;
	report->shrunk_pages = stock.shrunk;
	for (color = 0; color < pmc_colors; color++)
		by_color[color] = stock.counts[color];
	spin_unlock(&stock_lock);
}

/* New limits; then blocks until so many are in stock. */
int pmc_stock_set(u64 limit_pages, u64 keep_pages, u64 wanted_pages)
{
	int error = 0;

	mutex_lock(&refill_lock);
	spin_lock(&stock_lock);
	stock.limit = limit_pages;
	stock.keep = keep_pages;
	spin_unlock(&stock_lock);
	while (!error && READ_ONCE(stock.stocked) < wanted_pages) {
		if (fatal_signal_pending(current))
			error = -EINTR;
		else if (!add_largest_block())
			error = -ENOMEM;
		cond_resched();
	}
	trim(max(keep_pages, wanted_pages));
	mutex_unlock(&refill_lock);
	return error;
}

int pmc_stock_init(u64 limit_mib, u64 keep_mib)
{
	u64 most_mib = totalram_pages() / MIB_PAGES;
	u32 color;

	for (color = 0; color < PMC_COLORS_MAX; color++)
		INIT_LIST_HEAD(&stock.frames[color]);
	if (!limit_mib)
		limit_mib = most_mib / 2;
	stock.limit = min(limit_mib, most_mib) * MIB_PAGES;
	stock.keep = min(keep_mib, most_mib) * MIB_PAGES;
	shrinker = kcompat_shrinker_start("pagemill_color", &shrinker_calls);
	return PTR_ERR_OR_ZERO(shrinker);
}

/* All spaces have given back what they had. */
void pmc_stock_exit(void)
{
	kcompat_shrinker_stop(shrinker);
	give_back(U64_MAX);
	WARN_ON(stock.used || stock.stocked);
}
