// SPDX-License-Identifier: GPL-2.0
/*
 * core.c, one command a line, one answer a line: for comparing it with the
 * policy that decides the same elsewhere.
 *
 *   dealer COLORS FIRST COUNT          a new dealer of colors from FIRST on: 0
 *   deal                               the color of the next page
 *   back COLOR                         a page of it goes back: 0
 *   plan COLORS FIRST COUNT PAGES C.. the color that each page is to have
 */
#include <stdio.h>
#include <stdlib.h>

#include "core.h"

static struct pmc_dealer dealer;
static struct pmc_plan plan;

struct range {
	u32 colors;
	struct pagemill_color_set set;
};

static bool read_range(struct range *range)
{
	u32 first, count;

	if (scanf("%u %u %u", &range->colors, &first, &count) != 3 ||
	    range->colors > PMC_COLORS_MAX || first + count > range->colors)
		return false;
	memset(&range->set, 0, sizeof(range->set));
	for (u32 color = first; color < first + count; color++)
		pmc_set_add(&range->set, color);
	return pmc_set_is_valid(&range->set, range->colors);
}

static int deal(void)
{
	int color = pmc_dealer_next(&dealer, NULL);

	pmc_dealer_take(&dealer, color);
	return color;
}

static bool answer_plan(void)
{
	static u32 held[PMC_COLORS_MAX];
	struct range range;
	u32 pages;
	u32 *colors;

	if (!read_range(&range) || scanf("%u", &pages) != 1 || pages > 100000)
		return false;
	memset(held, 0, sizeof(held));
	colors = calloc(pages + 1, sizeof(*colors));
	for (u32 i = 0; i < pages; i++) {
		if (scanf("%u", &colors[i]) != 1 || colors[i] >= range.colors)
			exit(2);
		held[colors[i]]++;
	}
	pmc_plan_init(&plan, range.colors, &range.set, held);
	for (u32 i = 0; i < pages; i++)
		printf("%u ", pmc_plan_next(&plan, colors[i]));
	printf("\n");
	free(colors);
	return true;
}

int main(void)
{
	char command[16];
	struct range range;
	u32 color;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while (scanf("%15s", command) == 1) {
		if (!strcmp(command, "dealer")) {
			if (!read_range(&range))
				return 2;
			pmc_dealer_init(&dealer, range.colors, &range.set);
			printf("0\n");
		} else if (!strcmp(command, "deal")) {
			printf("%d\n", deal());
		} else if (!strcmp(command, "back")) {
			if (scanf("%u", &color) != 1 || color >= PMC_COLORS_MAX)
				return 2;
			pmc_dealer_give_back(&dealer, color);
			printf("0\n");
		} else if (strcmp(command, "plan") || !answer_plan()) {
			return 2;
		}
	}
	return 0;
}
