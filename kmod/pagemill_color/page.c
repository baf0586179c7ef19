// SPDX-License-Identifier: GPL-2.0
/*
 * Frames with content. The module holds one reference to each; every other one
 * is a page table's, or belongs to I/O.
 */
#include <linux/highmem.h>
#include <linux/slab.h>

#include "internal.h"

#define TRIES 4

static struct kmem_cache *entries;

int pmc_pages_init(void)
{
	entries = KMEM_CACHE(pmc_page, SLAB_ACCOUNT);
	return entries ? 0 : -ENOMEM;
}

void pmc_pages_exit(void)
{
	kmem_cache_destroy(entries);
}

/* A frame of `color`, if there is one or a block can be had. */
static struct page *take_exact(u32 color)
{
	struct page *page = pmc_stock_take(color);
	int tries;

	for (tries = 0; !page && tries < TRIES; tries++) {
		if (!pmc_stock_refill(color))
			break;
		page = pmc_stock_take(color);
	}
	return page;
}

/* The color whose turn it is has no frame: what the rule says. */
static struct page *take_by_rule(struct pmc_space *space, u32 *color)
{
	struct pagemill_color_set available;
	int tries;

	for (tries = 0; tries < TRIES; tries++) {
		struct pmc_choice choice;
		struct page *page;

		pmc_stock_available(&available);
		choice = pmc_choose(&space->dealer, space->rule, &available);
		if (choice.outcome == PMC_FAIL)
			break;
		page = choice.outcome == PMC_STRAY ? pmc_stock_take_any() :
						     pmc_stock_take(choice.color);
		if (!page)
			continue; /* another CPU was faster */
		*color = choice.color;
		if (choice.outcome == PMC_OTHER)
			space->counts.other_colors++;
		if (choice.outcome == PMC_STRAY && pmc_page_color(page) != *color)
			space->counts.strays++;
		return page;
	}
	return NULL;
}

/*
 * The next frame of a space, with old content and in no slot. ERR_PTR: -ENOENT
 * if there is no frame or the space has its part, -ENOMEM if the kernel has no memory for us.
 */
struct pmc_page *pmc_page_deal(struct pmc_space *space)
{
	struct pmc_page *entry = kmem_cache_alloc(entries, GFP_KERNEL);
	u32 color = pmc_dealer_next(&space->dealer, NULL);

	if (!entry)
		return ERR_PTR(-ENOMEM);
	entry->page = NULL;
	if (pmc_stock_allows(space->counts.pages)) {
		entry->page = take_exact(color);
		if (!entry->page)
			entry->page = take_by_rule(space, &color);
	}
	if (!entry->page) {
		space->counts.failures++;
		kmem_cache_free(entries, entry);
		return ERR_PTR(-ENOENT);
	}
	pmc_observe_owner(entry->page, space->number);
	pmc_dealer_take(&space->dealer, color);
	entry->shares = 1;
	entry->target = color;
	entry->moves = false;
	list_add_tail(&entry->node, &space->pages);
	space->counts.pages++;
	return entry;
}

/* One slot less; the last one frees it. It is not mapped any more. */
void pmc_page_put(struct pmc_space *space, struct pmc_page *entry)
{
	if (--entry->shares)
		return;
	list_del(&entry->node);
	pmc_dealer_give_back(&space->dealer, entry->target);
	space->counts.pages--;
	pmc_stock_put(entry->page);
	kmem_cache_free(entries, entry);
}

/*
 * Copies a page to the color that it is to have. No page table leads to it: it
 * was unmapped, and every way to map it again comes through here. Where
 * another user holds the frame, or there is no other, it stays.
 */
void pmc_page_move(struct pmc_space *space, struct pmc_page *entry)
{
	struct page *to = NULL;

	entry->moves = false;
	if (page_count(entry->page) == 1)
		to = take_exact(entry->target);
	if (!to) {
		space->counts.pinned++;
		return;
	}
	pmc_observe_owner(to, space->number);
	copy_highpage(to, entry->page);
	pmc_stock_put(entry->page);
	entry->page = to;
	space->counts.copied++;
}
