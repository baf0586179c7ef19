// SPDX-License-Identifier: GPL-2.0
/*
 * What happens when a color, or all memory, is used up: by rule.
 *
 *   color_rules
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "color_space.h"
#include "guest.h"

#define LIMIT 4096 /* pages: each of 64 colors has 64 */

static sigjmp_buf back;

static void on_bus_error(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

/* How many pages can be touched. */
static size_t touch_until_refused(volatile unsigned char *at, size_t pages)
{
	volatile size_t touched = 0;

	if (sigsetjmp(back, 1))
		return touched;
	for (; touched < pages; touched++)
		at[touched * COLOR_PAGE] = 1;
	return touched;
}

struct outcome {
	size_t touched;
	struct pagemill_color_report report;
};

static struct outcome exhaust(uint32_t rule, struct pagemill_color_set set, size_t pages)
{
	int fd = color_open();
	unsigned char *at = color_map(fd, pages);
	struct outcome outcome;

	color_set(fd, set, rule);
	outcome.touched = touch_until_refused(at, pages);
	outcome.report = color_report(fd);
	munmap(at, pages * COLOR_PAGE);
	close(fd);
	return outcome;
}

static void expect(bool holds, const char *what, const struct outcome *outcome)
{
	if (!holds)
		guest_fail(
			"%s: %zu pages touched, %d in the set, %d strays, %d of other colors, %d failures",
			what, outcome->touched, (int)outcome->report.in_set,
			(int)outcome->report.strays, (int)outcome->report.other_colors,
			(int)outcome->report.failures);
}

int main(void)
{
	struct pagemill_color_set two = color_range(4, 2);
	struct outcome outcome;
	int fd = color_open(), holder = color_open();
	unsigned char *held;

	signal(SIGBUS, on_bus_error);
	color_set_stock(fd, LIMIT, LIMIT, LIMIT);
	if (color_stock(fd).stocked_pages != LIMIT)
		guest_fail("the stock is not filled");

	outcome = exhaust(PAGEMILL_COLOR_RULE_FAIL, two, 1000);
	expect(outcome.touched == 128 && outcome.report.in_set == 128 &&
		       outcome.report.failures == 1 && !outcome.report.strays,
	       "rule fail", &outcome);

	/* Another space has half of one color. */
	held = color_map(holder, 32);
	color_set(holder, color_range(4, 1), PAGEMILL_COLOR_RULE_FAIL);
	if (touch_until_refused(held, 32) != 32)
		guest_fail("there are fewer than 64 frames of a color");
	outcome = exhaust(PAGEMILL_COLOR_RULE_FAIL, two, 1000);
	expect(outcome.touched == 64 && outcome.report.in_set == 64, "rule fail, one color short",
	       &outcome);
	outcome = exhaust(PAGEMILL_COLOR_RULE_SET, two, 1000);
	expect(outcome.touched == 96 && outcome.report.in_set == 96 &&
		       outcome.report.other_colors >= 30 && !outcome.report.strays,
	       "rule set, one color short", &outcome);
	outcome = exhaust(PAGEMILL_COLOR_RULE_ANY, two, 1000);
	expect(outcome.touched == 1000 && outcome.report.in_set == 96 &&
		       outcome.report.strays == 904 && !outcome.report.failures,
	       "rule any", &outcome);
	outcome = exhaust(PAGEMILL_COLOR_RULE_ANY, two, LIMIT + 100);
	expect(outcome.touched == LIMIT - 32 && outcome.report.failures == 1,
	       "rule any, no memory at all", &outcome);
	munmap(held, 32 * COLOR_PAGE);
	close(holder);
	if (color_stock(fd).used_pages)
		guest_fail("frames are left");

	/* What is beyond the limit for keeping goes back to the kernel. */
	color_set_stock(fd, LIMIT, 128, 0);
	if (color_stock(fd).stocked_pages > 128)
		guest_fail("more is kept than allowed");
	outcome = exhaust(PAGEMILL_COLOR_RULE_FAIL, two, 64);
	expect(outcome.touched == 64 && outcome.report.in_set == 64, "with an almost empty stock",
	       &outcome);
	if (color_stock(fd).stocked_pages > 128)
		guest_fail("more is kept than allowed, after use");
	color_set_stock(fd, 1 << 16, 1 << 14, 0);
	close(fd);
	color_expect_idle();
	return 0;
}
