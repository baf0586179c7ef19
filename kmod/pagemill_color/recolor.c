// SPDX-License-Identifier: GPL-2.0
/*
 * Other colors for all pages of a space: planned at once, with the fewest
 * moves; unmapped with one flush; copied when they are touched again.
 */
#include <linux/sched.h>
#include <linux/slab.h>

#include "internal.h"

static void count_held(const struct pmc_space *space, u32 *held)
{
	const struct pmc_page *entry;

	list_for_each_entry(entry, &space->pages, node) {
		held[pmc_page_color(entry->page)]++;
		cond_resched();
	}
}

/* Sets targets; how many pages are to move. */
static u64 plan_moves(struct pmc_space *space, struct pmc_plan *plan)
{
	struct pmc_page *entry;
	u64 moves = 0;

	list_for_each_entry(entry, &space->pages, node) {
		u32 color = pmc_page_color(entry->page);

		entry->target = pmc_plan_next(plan, color);
		entry->moves = entry->target != color;
		moves += entry->moves;
		if (entry->moves)
			pmc_wait_for_faults(entry->page);
		cond_resched();
	}
	return moves;
}

/*
 * One pass over the page tables from the first to the last page that moves.
 * Those between that stay are mapped again by their next touch, and not copied.
 */
static void unmap_moves(struct pmc_region *region)
{
	unsigned long slot, low = ULONG_MAX, high = 0;
	struct pmc_page *entry;

	xa_for_each(&region->slots, slot, entry) {
		cond_resched();
		if (!entry->moves)
			continue;
		low = min(low, slot);
		high = slot;
	}
	if (low == ULONG_MAX)
		return;
	pmc_region_unmap(region, low, high - low + 1);
	region->space->counts.flushes++;
}

/* What is dealt next continues the new map. */
static void take_over(struct pmc_space *space, const struct pmc_plan *plan, u32 rule)
{
	pmc_dealer_change(&space->dealer, &plan->set);
	memcpy(space->dealer.pages, plan->share, sizeof(plan->share));
	space->rule = rule;
}

static void recolor_locked(struct pmc_space *space, struct pmc_plan *plan, u32 *held,
			   struct pagemill_color_recolor *recolor)
{
	struct pmc_region *region;

	count_held(space, held);
	pmc_plan_init(plan, pmc_colors, &recolor->choice.set, held);
	take_over(space, plan, recolor->choice.rule);
	recolor->pages = space->counts.pages;
	recolor->planned = plan_moves(space, plan);
	if (!recolor->planned)
		return;
	space->counts.recolors++;
	list_for_each_entry(region, &space->regions, node)
		unmap_moves(region);
}

int pmc_recolor(struct pmc_space *space, struct pagemill_color_recolor *recolor)
{
	struct pmc_plan *plan;
	u32 *held;
	int error = -ENOMEM;

	if (!pmc_choice_is_valid(&recolor->choice))
		return -EINVAL;
	plan = kvmalloc(sizeof(*plan), GFP_KERNEL);
	held = kvcalloc(PMC_COLORS_MAX, sizeof(*held), GFP_KERNEL);
	if (!plan || !held)
		goto out;
	error = -EINTR;
	if (mutex_lock_killable(&space->lock))
		goto out;
	recolor_locked(space, plan, held, recolor);
	mutex_unlock(&space->lock);
	error = 0;
out:
	kvfree(held);
	kvfree(plan);
	return error;
}
