/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which color a page gets: geometry, sets, dealing, and the plan of a change.
 * No call into the kernel; the caller holds a lock over every function that
 * changes something. The same decisions as pagemill_policy::coloring.
 */
#ifndef PAGEMILL_COLOR_CORE_H
#define PAGEMILL_COLOR_CORE_H

#include "../include/kport.h"
#include "pagemill_color.h"

#define PMC_COLORS_MAX PAGEMILL_COLOR_COLORS_MAX
#define PMC_NO_COLOR   (-1)

u32 pmc_geometry_colors(u64 cache_bytes, u32 ways, u32 line_bytes, u32 page_bytes);

static inline u32 pmc_color_of(unsigned long pfn, u32 colors)
{
	return pfn & (colors - 1);
}

/* Sets of colors */
bool pmc_set_is_valid(const struct pagemill_color_set *set, u32 colors);
void pmc_set_fill(struct pagemill_color_set *set, u32 colors);
u32 pmc_set_count(const struct pagemill_color_set *set);

static inline bool pmc_set_has(const struct pagemill_color_set *set, u32 color)
{
	return set->words[color / 64] >> color % 64 & 1;
}

static inline void pmc_set_add(struct pagemill_color_set *set, u32 color)
{
	set->words[color / 64] |= 1ULL << color % 64;
}

/* Deals colors evenly, and never the same twice in a row. */
struct pmc_dealer {
	struct pagemill_color_set set;
	u32 colors;		   /* of the palette */
	int last;		   /* dealt last, or PMC_NO_COLOR */
	u32 pages[PMC_COLORS_MAX]; /* dealt and not back, by color */
};

void pmc_dealer_init(struct pmc_dealer *dealer, u32 colors, const struct pagemill_color_set *set);
void pmc_dealer_change(struct pmc_dealer *dealer, const struct pagemill_color_set *set);
int pmc_dealer_next(const struct pmc_dealer *dealer, const struct pagemill_color_set *available);
void pmc_dealer_take(struct pmc_dealer *dealer, u32 color);
void pmc_dealer_give_back(struct pmc_dealer *dealer, u32 color);

/* What is dealt when some colors have no frame. */
enum pmc_outcome {
	PMC_EXACT, /* the color whose turn it is */
	PMC_OTHER, /* another one of the set */
	PMC_STRAY, /* any frame */
	PMC_FAIL,  /* none */
};

struct pmc_choice {
	enum pmc_outcome outcome;
	u32 color; /* counts as this one; the frame has it too, unless it is a stray */
};

struct pmc_choice pmc_choose(const struct pmc_dealer *dealer, u32 rule,
			     const struct pagemill_color_set *available);

/*
 * The even map to a set of colors that is nearest to the current one: asked
 * page by page, in order.
 */
struct pmc_plan {
	struct pagemill_color_set set;
	u32 colors;
	u32 next;		   /* color that the next page to move is offered */
	u32 share[PMC_COLORS_MAX]; /* pages in the end */
	u32 keep[PMC_COLORS_MAX];  /* pages that still may stay */
	u32 room[PMC_COLORS_MAX];  /* pages that still may come */
};

void pmc_plan_init(struct pmc_plan *plan, u32 colors, const struct pagemill_color_set *set,
		   const u32 *held);
u32 pmc_plan_next(struct pmc_plan *plan, u32 current_color);

#endif
