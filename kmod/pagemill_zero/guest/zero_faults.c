// SPDX-License-Identifier: GPL-2.0
/*
 * What the first touch of a huge page costs, in ticks of the time stamp
 * counter: instructions, where the guest counts them.
 *
 *   zero_faults [--page-bytes N] [--pages N] [--ratio N]
 *
 * With --ratio, `pool` and `on-free` must be so many times under `plain`.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest.h"
#include "zero_helper.h"

#define PAGES_MAX 256

struct cost {
	uint64_t least;
	uint64_t median;
};

static size_t page_bytes = 2 << 20;
static size_t pages = 32;

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Touches every page once; then dirties them. */
static struct cost touch_all(void)
{
	uint64_t ticks[PAGES_MAX];
	char *mapped = guest_map_pages(pages, page_bytes);
	uint64_t none;

	for (size_t i = 0; i < pages; i++) {
		uint64_t start = guest_ticks();

		*(volatile char *)(mapped + i * page_bytes) = 1;
		ticks[i] = guest_ticks() - start;
	}
	/* Two readings with nothing between are not part of a fault. */
	none = guest_ticks();
	none = guest_ticks() - none;
	memset(mapped, 0xa5, pages * page_bytes);
	guest_unmap_pages(mapped, pages, page_bytes);
	qsort(ticks, pages, sizeof(ticks[0]), by_size);
	return (struct cost){ ticks[0] - none, ticks[pages / 2] - none };
}

static void tell(const char *mode, struct cost cost)
{
	char name[64];

	snprintf(name, sizeof(name), "%s_least", mode);
	guest_value(name, cost.least, "ticks");
	snprintf(name, sizeof(name), "%s_median", mode);
	guest_value(name, cost.median, "ticks");
}

static struct cost measure_plain(void)
{
	zero_set("mode", "plain");
	touch_all();
	return touch_all();
}

static uint64_t free_pages(void)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/kernel/mm/hugepages/hugepages-%zukB/free_hugepages",
		 page_bytes >> 10);
	return guest_read_number(path);
}

/* The helper has cleaned the pool before the first fault, and is gone. */
static struct cost measure_pool(void)
{
	uint64_t all = zero_counter("pool_cleaned") + free_pages();
	pid_t helper;

	zero_set("mode", "pool");
	helper = zero_helper_start(ZERO_ENGINE_STORES, false);
	for (int tries = 0; zero_counter("pool_cleaned") < all; tries++) {
		if (tries == 2000)
			guest_fail("after 20 s %" PRIu64 " pages are still dirty",
				   all - zero_counter("pool_cleaned"));
		usleep(10000);
	}
	zero_helper_kill(helper);
	return touch_all();
}

static struct cost measure_on_free(void)
{
	zero_set("mode", "on-free");
	touch_all();
	return touch_all();
}

static void check_ratio(const char *mode, struct cost plain, struct cost cost, uint64_t ratio)
{
	char name[64];

	snprintf(name, sizeof(name), "plain_over_%s", mode);
	guest_value(name, plain.median / (cost.median ? cost.median : 1), "times");
	if (plain.median < ratio * cost.median)
		guest_fail("%s takes %" PRIu64 " ticks and plain %" PRIu64 ": less than %" PRIu64
			   " times as many",
			   mode, cost.median, plain.median, ratio);
}

static void require_clean_faults(const char *mode, uint64_t before)
{
	uint64_t clean = zero_counter("faults_clean") - before;

	if (clean < pages)
		guest_fail("%s: only %" PRIu64 " of %zu faults met a clean page", mode, clean,
			   pages);
}

int main(int argc, char **argv)
{
	static const struct option known[] = {
		{ "page-bytes", required_argument, NULL, 'p' },
		{ "pages", required_argument, NULL, 'n' },
		{ "ratio", required_argument, NULL, 'r' },
		{ NULL, 0, NULL, 0 },
	};
	struct cost plain, pool, on_free;
	uint64_t ratio = 0, before;
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (option) {
		case 'p':
			page_bytes = strtoull(optarg, NULL, 0);
			break;
		case 'n':
			pages = strtoull(optarg, NULL, 0);
			break;
		case 'r':
			ratio = strtoull(optarg, NULL, 0);
			break;
		default:
			return 2;
		}
	}
	if (pages == 0 || pages > PAGES_MAX)
		guest_fail("--pages is 1 to %d", PAGES_MAX);
	plain = measure_plain();
	tell("plain", plain);
	before = zero_counter("faults_clean");
	pool = measure_pool();
	tell("pool", pool);
	require_clean_faults("pool", before);
	before = zero_counter("faults_clean");
	on_free = measure_on_free();
	tell("on-free", on_free);
	require_clean_faults("on-free", before);
	zero_set("mode", "plain");
	check_ratio("pool", plain, pool, ratio);
	check_ratio("on-free", plain, on_free, ratio);
	return 0;
}
