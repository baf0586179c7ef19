// SPDX-License-Identifier: GPL-2.0
/* Spaces: a set of colors, and the frames dealt from it. */
#include <linux/sched.h>
#include <linux/slab.h>

#include "internal.h"

static atomic_t last_number = ATOMIC_INIT(0);
static atomic64_t opened = ATOMIC64_INIT(0);

struct pmc_space *pmc_space_open(void)
{
	struct pmc_space *space = kvzalloc(sizeof(*space), GFP_KERNEL_ACCOUNT);
	struct pagemill_color_set all;

	if (!space)
		return NULL;
	mutex_init(&space->lock);
	INIT_LIST_HEAD(&space->pages);
	INIT_LIST_HEAD(&space->regions);
	pmc_set_fill(&all, pmc_colors);
	pmc_dealer_init(&space->dealer, pmc_colors, &all);
	space->rule = PAGEMILL_COLOR_RULE_ANY;
	space->number = atomic_inc_return(&last_number);
	atomic64_inc(&opened);
	return space;
}

/* Every mapping holds the file, so there is none left. */
void pmc_space_close(struct pmc_space *space)
{
	WARN_ON(!list_empty(&space->pages) || !list_empty(&space->regions));
	atomic64_dec(&opened);
	kvfree(space);
}

u64 pmc_space_opened(void)
{
	return atomic64_read(&opened);
}

bool pmc_choice_is_valid(const struct pagemill_color_choice *choice)
{
	return pmc_set_is_valid(&choice->set, pmc_colors) &&
	       choice->rule <= PAGEMILL_COLOR_RULE_FAIL && !choice->reserved;
}

/* For pages that are dealt from now on. */
int pmc_space_set(struct pmc_space *space, const struct pagemill_color_choice *choice)
{
	if (!pmc_choice_is_valid(choice))
		return -EINVAL;
	if (mutex_lock_killable(&space->lock))
		return -EINTR;
	pmc_dealer_change(&space->dealer, &choice->set);
	space->rule = choice->rule;
	mutex_unlock(&space->lock);
	return 0;
}

static void count_pages(const struct pmc_space *space, struct pagemill_color_report *report,
			u64 *by_color)
{
	const struct pmc_page *entry;

	list_for_each_entry(entry, &space->pages, node) {
		u32 color = pmc_page_color(entry->page);

		by_color[color]++;
		report->in_set += pmc_set_has(&space->dealer.set, color);
		report->pending += entry->moves;
		cond_resched();
	}
}

/* `by_color` is zeroed. */
int pmc_space_report(struct pmc_space *space, struct pagemill_color_report *report, u64 *by_color)
{
	const struct pmc_counts *counts = &space->counts;

	if (mutex_lock_killable(&space->lock))
		return -EINTR;
	report->choice.set = space->dealer.set;
	report->choice.rule = space->rule;
	report->choice.reserved = 0;
	report->in_set = 0;
	report->pending = 0;
	count_pages(space, report, by_color);
	report->pages = counts->pages;
	report->dealt = counts->dealt;
	report->copied = counts->copied;
	report->cow_copied = counts->cow_copied;
	report->pinned = counts->pinned;
	report->strays = counts->strays;
	report->other_colors = counts->other_colors;
	report->failures = counts->failures;
	report->recolors = counts->recolors;
	report->flushes = counts->flushes;
	mutex_unlock(&space->lock);
	return 0;
}
