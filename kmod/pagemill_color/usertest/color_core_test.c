// SPDX-License-Identifier: GPL-2.0
/*
 * core.c in user space: dealing against its promises, plans against every map
 * there is, choices against their rule, with random sets of colors.
 */
#include "core.h"

#include "../../include/usertest.h"

#define ROUNDS	     300
#define DEALS	     2000
#define SMALL_PAGES  5
#define SMALL_COLORS 4

static struct pmc_dealer dealer;
static struct pmc_plan plan;

static struct pagemill_color_set random_set(u64 *state, u32 colors)
{
	struct pagemill_color_set set = { { 0 } };
	u32 left = 1 + next_random(state) % colors;

	while (left--)
		pmc_set_add(&set, next_random(state) % colors);
	return set;
}

static void check_geometry(void)
{
	CHECK(pmc_geometry_colors(6 << 20, 24, 64, 4096) == 64);
	CHECK(pmc_geometry_colors(1 << 20, 16, 64, 4096) == 16);
	CHECK(pmc_geometry_colors(2 * 8 * 4096, 8, 64, 4096) == 2);
	CHECK(pmc_geometry_colors(8 * 4096, 8, 64, 4096) == 0);
	CHECK(pmc_geometry_colors(6 << 20, 0, 64, 4096) == 0);
	CHECK(pmc_geometry_colors(6 << 20, 23, 64, 4096) == 0);
	CHECK(pmc_geometry_colors(6 << 20, 16, 64, 4096) == 0);
	CHECK(pmc_geometry_colors(6 << 20, 24, 63, 4096) == 0);
	CHECK(pmc_geometry_colors(6 << 20, 24, 8192, 4096) == 0);
	CHECK(pmc_geometry_colors(1ull << 40, 16, 64, 4096) == 0);
	CHECK(pmc_geometry_colors((u64)PMC_COLORS_MAX << 16, 16, 64, 4096) == PMC_COLORS_MAX);
}

static void check_sets(void)
{
	struct pagemill_color_set set;

	memset(&set, 0, sizeof(set));
	CHECK(!pmc_set_is_valid(&set, 64));
	pmc_set_fill(&set, 64);
	CHECK(pmc_set_is_valid(&set, 64) && pmc_set_count(&set) == 64);
	CHECK(!pmc_set_is_valid(&set, 32));
	pmc_set_fill(&set, PMC_COLORS_MAX);
	CHECK(pmc_set_is_valid(&set, PMC_COLORS_MAX));
	CHECK(pmc_set_count(&set) == PMC_COLORS_MAX);
}

/* Even within one, and never the same twice in a row. */
static void deal_round(u64 *state)
{
	u32 colors = 2u << next_random(state) % 6;
	struct pagemill_color_set set = random_set(state, colors);
	int i;

	pmc_dealer_init(&dealer, colors, &set);
	for (i = 0; i < DEALS; i++) {
		int color = pmc_dealer_next(&dealer, NULL);
		u32 least = ~0u, most = 0, other;

		CHECK(color >= 0 && pmc_set_has(&set, color));
		CHECK(color != dealer.last || pmc_set_count(&set) == 1);
		pmc_dealer_take(&dealer, color);
		for (other = 0; other < colors; other++) {
			if (!pmc_set_has(&set, other))
				continue;
			least = dealer.pages[other] < least ? dealer.pages[other] : least;
			most = dealer.pages[other] > most ? dealer.pages[other] : most;
		}
		CHECK(most - least <= 1);
	}
}

/* Pages that go back are dealt first, and what goes back too often does no harm. */
static void give_back_round(u64 *state)
{
	struct pagemill_color_set set = random_set(state, 64);
	int i;

	pmc_dealer_init(&dealer, 64, &set);
	for (i = 0; i < DEALS; i++) {
		u64 random = next_random(state);
		int color;

		if (random & 1) {
			pmc_dealer_give_back(&dealer, random >> 8 & 63);
			continue;
		}
		color = pmc_dealer_next(&dealer, NULL);
		CHECK(color >= 0 && pmc_set_has(&set, color));
		pmc_dealer_take(&dealer, color);
		if (random >> 50 == 1) {
			set = random_set(state, 64);
			pmc_dealer_change(&dealer, &set);
		}
	}
}

static bool meets(const struct pagemill_color_set *one, const struct pagemill_color_set *other)
{
	unsigned int word;

	for (word = 0; word < PAGEMILL_COLOR_SET_WORDS; word++)
		if (one->words[word] & other->words[word])
			return true;
	return false;
}

static void choose_round(u64 *state)
{
	struct pagemill_color_set set = random_set(state, 64);
	u32 rule = next_random(state) % 3;
	int i;

	pmc_dealer_init(&dealer, 64, &set);
	for (i = 0; i < 200; i++) {
		struct pagemill_color_set available = { { next_random(state) &
							  next_random(state) } };
		int wanted = pmc_dealer_next(&dealer, NULL);
		bool others = meets(&set, &available);
		struct pmc_choice choice = pmc_choose(&dealer, rule, &available);

		switch (choice.outcome) {
		case PMC_EXACT:
			CHECK((int)choice.color == wanted);
			CHECK(pmc_set_has(&available, choice.color));
			break;
		case PMC_OTHER:
			CHECK(rule != PAGEMILL_COLOR_RULE_FAIL);
			CHECK(!pmc_set_has(&available, wanted));
			CHECK(pmc_set_has(&available, choice.color));
			CHECK(pmc_set_has(&set, choice.color));
			break;
		case PMC_STRAY:
			CHECK(rule == PAGEMILL_COLOR_RULE_ANY && !others);
			CHECK((int)choice.color == wanted);
			break;
		case PMC_FAIL:
			CHECK(!pmc_set_has(&available, wanted));
			CHECK(rule == PAGEMILL_COLOR_RULE_FAIL ||
			      (rule == PAGEMILL_COLOR_RULE_SET && !others));
			continue;
		}
		pmc_dealer_take(&dealer, choice.color);
	}
}

/* The number that has digit `at` of a number in base SMALL_COLORS. */
static u32 digit(u32 number, u32 at)
{
	while (at--)
		number /= SMALL_COLORS;
	return number % SMALL_COLORS;
}

static bool is_even(const u32 *counts, const struct pagemill_color_set *set)
{
	u32 least = ~0u, most = 0, color;

	for (color = 0; color < SMALL_COLORS; color++) {
		if (!pmc_set_has(set, color)) {
			if (counts[color])
				return false;
			continue;
		}
		least = counts[color] < least ? counts[color] : least;
		most = counts[color] > most ? counts[color] : most;
	}
	return most - least <= 1;
}

static bool is_even_map(u32 map, u32 pages, const struct pagemill_color_set *set)
{
	u32 counts[SMALL_COLORS] = { 0 }, page;

	for (page = 0; page < pages; page++)
		counts[digit(map, page)]++;
	return is_even(counts, set);
}

static u32 distance(u32 one, u32 other, u32 pages)
{
	u32 moved = 0, page;

	for (page = 0; page < pages; page++)
		moved += digit(one, page) != digit(other, page);
	return moved;
}

static u32 moved_by_plan(u32 map, u32 pages, const struct pagemill_color_set *set)
{
	u32 held[SMALL_COLORS] = { 0 }, counts[SMALL_COLORS] = { 0 };
	u32 moved = 0, page;

	for (page = 0; page < pages; page++)
		held[digit(map, page)]++;
	pmc_plan_init(&plan, SMALL_COLORS, set, held);
	for (page = 0; page < pages; page++) {
		u32 target = pmc_plan_next(&plan, digit(map, page));

		counts[target]++;
		moved += target != digit(map, page);
	}
	CHECK(is_even(counts, set));
	CHECK(!memcmp(counts, plan.share, sizeof(counts)));
	return moved;
}

/* All maps of a few pages, to all sets: no even map is nearer. */
static void check_plans_are_minimal(void)
{
	u32 maps = 1, pages;

	for (pages = 1; pages <= SMALL_PAGES; pages++) {
		maps *= SMALL_COLORS;
		for (u64 bits = 1; bits < 1 << SMALL_COLORS; bits++) {
			struct pagemill_color_set set = { { bits } };

			for (u32 map = 0; map < maps; map++) {
				u32 nearest = ~0u;

				for (u32 other = 0; other < maps; other++)
					if (is_even_map(other, pages, &set) &&
					    distance(map, other, pages) < nearest)
						nearest = distance(map, other, pages);
				CHECK(moved_by_plan(map, pages, &set) == nearest);
			}
		}
	}
}

int main(void)
{
	u64 state = 1;

	check_geometry();
	check_sets();
	check_plans_are_minimal();
	for (round_now = 0; round_now < ROUNDS; round_now++) {
		deal_round(&state);
		give_back_round(&state);
		choose_round(&state);
	}
	printf("%u rounds\n", ROUNDS);
	return 0;
}
