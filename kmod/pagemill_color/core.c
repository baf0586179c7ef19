// SPDX-License-Identifier: GPL-2.0
/* Dealing and planning; see core.h. */
#include "core.h"

static bool is_power_of_two(u64 number)
{
	return number && !(number & (number - 1));
}

/* How many colors a cache has, or 0 if its sets are not selected by address bits. */
u32 pmc_geometry_colors(u64 cache_bytes, u32 ways, u32 line_bytes, u32 page_bytes)
{
	u64 way_bytes;

	if (!ways || cache_bytes % ways || !is_power_of_two(line_bytes) || line_bytes > page_bytes)
		return 0;
	way_bytes = cache_bytes / ways;
	if (!is_power_of_two(way_bytes) || way_bytes < 2ULL * page_bytes ||
	    way_bytes / page_bytes > PMC_COLORS_MAX)
		return 0;
	return way_bytes / page_bytes;
}

/* Not empty, and without a color that there is not. */
bool pmc_set_is_valid(const struct pagemill_color_set *set, u32 colors)
{
	u32 color;
	bool any = false;

	for (color = 0; color < PMC_COLORS_MAX; color++) {
		if (!pmc_set_has(set, color))
			continue;
		if (color >= colors)
			return false;
		any = true;
	}
	return any;
}

/* All colors. */
void pmc_set_fill(struct pagemill_color_set *set, u32 colors)
{
	u32 color;

	memset(set, 0, sizeof(*set));
	for (color = 0; color < colors; color++)
		pmc_set_add(set, color);
}

u32 pmc_set_count(const struct pagemill_color_set *set)
{
	u32 count = 0;
	unsigned int word;

	for (word = 0; word < PAGEMILL_COLOR_SET_WORDS; word++) {
		u64 left = set->words[word];

		for (; left; left &= left - 1)
			count++;
	}
	return count;
}

void pmc_dealer_init(struct pmc_dealer *dealer, u32 colors, const struct pagemill_color_set *set)
{
	memset(dealer, 0, sizeof(*dealer));
	dealer->set = *set;
	dealer->colors = colors;
	dealer->last = PMC_NO_COLOR;
}

/* Other colors from now on; what was dealt stays counted. */
void pmc_dealer_change(struct pmc_dealer *dealer, const struct pagemill_color_set *set)
{
	dealer->set = *set;
}

/*
 * The color of the next page: one with the fewest pages, searched from the
 * last dealt one on, and another than the last where there is a choice. Only
 * colors that are `available`, if that is known; PMC_NO_COLOR if none is.
 */
int pmc_dealer_next(const struct pmc_dealer *dealer, const struct pagemill_color_set *available)
{
	u32 color = dealer->last < 0 ? dealer->colors - 1 : (u32)dealer->last;
	int best = PMC_NO_COLOR;
	u32 i;

	for (i = 0; i < dealer->colors; i++) {
		color = color + 1 < dealer->colors ? color + 1 : 0;
		if (!pmc_set_has(&dealer->set, color) ||
		    (available && !pmc_set_has(available, color)))
			continue;
		if ((int)color == dealer->last && best != PMC_NO_COLOR)
			continue;
		if (best == PMC_NO_COLOR || dealer->pages[color] < dealer->pages[best])
			best = color;
	}
	return best;
}

void pmc_dealer_take(struct pmc_dealer *dealer, u32 color)
{
	dealer->pages[color]++;
	dealer->last = color;
}

void pmc_dealer_give_back(struct pmc_dealer *dealer, u32 color)
{
	if (dealer->pages[color])
		dealer->pages[color]--;
}

/* What to deal if only these colors have a frame. */
struct pmc_choice pmc_choose(const struct pmc_dealer *dealer, u32 rule,
			     const struct pagemill_color_set *available)
{
	struct pmc_choice choice = { PMC_EXACT, pmc_dealer_next(dealer, NULL) };
	int other;

	if (pmc_set_has(available, choice.color))
		return choice;
	choice.outcome = PMC_FAIL;
	if (rule == PAGEMILL_COLOR_RULE_FAIL)
		return choice;
	other = pmc_dealer_next(dealer, available);
	if (other != PMC_NO_COLOR) {
		choice.outcome = PMC_OTHER;
		choice.color = other;
	} else if (rule == PAGEMILL_COLOR_RULE_ANY) {
		choice.outcome = PMC_STRAY;
	}
	return choice;
}

/* One page more for each color, or each that holds more than its share, while there are odd ones. */
static u64 give_odd(struct pmc_plan *plan, const u32 *held, u64 odd, u32 share, bool only_fuller)
{
	u32 color;

	for (color = 0; color < plan->colors && odd; color++) {
		if (!pmc_set_has(&plan->set, color) || plan->share[color] != share ||
		    (only_fuller && held[color] <= share))
			continue;
		plan->share[color]++;
		odd--;
	}
	return odd;
}

/*
 * `held` says how many pages have each color now. The odd pages go to colors
 * that hold more than their share already: then the fewest pages move.
 */
void pmc_plan_init(struct pmc_plan *plan, u32 colors, const struct pagemill_color_set *set,
		   const u32 *held)
{
	u32 count = pmc_set_count(set);
	u64 pages = 0, odd;
	u32 share, color;

	memset(plan, 0, sizeof(*plan));
	plan->set = *set;
	plan->colors = colors;
	for (color = 0; color < colors; color++)
		pages += held[color];
	share = pages / count;
	odd = pages % count;
	for (color = 0; color < colors; color++)
		if (pmc_set_has(set, color))
			plan->share[color] = share;
	odd = give_odd(plan, held, odd, share, true);
	give_odd(plan, held, odd, share, false);
	for (color = 0; color < colors; color++) {
		plan->keep[color] =
			held[color] < plan->share[color] ? held[color] : plan->share[color];
		plan->room[color] = plan->share[color] - plan->keep[color];
	}
}

/* The color that the next page is to have. Round robin, so that neighbors which move together part. */
u32 pmc_plan_next(struct pmc_plan *plan, u32 current_color)
{
	u32 color = plan->next;

	if (plan->keep[current_color]) {
		plan->keep[current_color]--;
		return current_color;
	}
	while (!plan->room[color])
		color = color + 1 < plan->colors ? color + 1 : 0;
	plan->room[color]--;
	plan->next = color + 1 < plan->colors ? color + 1 : 0;
	return color;
}
