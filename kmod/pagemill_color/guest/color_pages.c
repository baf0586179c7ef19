// SPDX-License-Identifier: GPL-2.0
/*
 * Where pages are, seen by the page map, and what they hold: dealing, giving
 * back, changing colors, and what a mapping may be asked.
 *
 *   color_pages
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "color_space.h"
#include "guest.h"

#define PAGES 777

static unsigned int colors;

static void check(bool holds, const char *what)
{
	if (!holds)
		guest_fail("%s", what);
}

struct census {
	uint64_t by_color[PAGEMILL_COLOR_COLORS_MAX];
	uint64_t outside;
	uint64_t twice_in_a_row;
};

/* Of pages that are all mapped. */
static struct census count_colors(const unsigned char *at, size_t pages,
				  const struct pagemill_color_set *set)
{
	struct census census;
	unsigned int last = colors;

	memset(&census, 0, sizeof(census));
	for (size_t i = 0; i < pages; i++) {
		unsigned int color = color_of(at + i * COLOR_PAGE, colors);

		census.by_color[color]++;
		census.outside += !color_has(set, color);
		census.twice_in_a_row += color == last;
		last = color;
	}
	return census;
}

static uint64_t unevenness(const struct census *census, const struct pagemill_color_set *set)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (unsigned int color = 0; color < colors; color++) {
		uint64_t pages = census->by_color[color];

		if (!color_has(set, color))
			continue;
		least = pages < least ? pages : least;
		most = pages > most ? pages : most;
	}
	return most - least;
}

static void expect_even(const unsigned char *at, size_t pages, struct pagemill_color_set set,
			const char *when)
{
	struct census census = count_colors(at, pages, &set);

	if (census.outside || unevenness(&census, &set) > 1)
		guest_fail("%s: %d of %zu pages outside the set, counts differ by %d", when,
			   (int)census.outside, pages, (int)unevenness(&census, &set));
}

static void fill_all(unsigned char *at, size_t pages)
{
	for (size_t i = 0; i < pages; i++) {
		check(color_is_zero(at + i * COLOR_PAGE), "a new page is not zero");
		color_fill(at + i * COLOR_PAGE, i);
	}
}

static void expect_filled(const unsigned char *at, size_t pages)
{
	for (size_t i = 0; i < pages; i++)
		check(color_is_filled(at + i * COLOR_PAGE, i), "a page has lost its content");
}

static void check_dealing(void)
{
	static const unsigned int counts[] = { 1, 2, 3, 8, 63 };

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct pagemill_color_set set = color_range(colors - counts[i], counts[i]);
		int fd = color_open();
		unsigned char *at = color_map(fd, PAGES);
		struct pagemill_color_report report;
		struct census census;

		color_set(fd, set, PAGEMILL_COLOR_RULE_FAIL);
		fill_all(at, PAGES);
		census = count_colors(at, PAGES, &set);
		expect_even(at, PAGES, set, "dealt");
		check(counts[i] == 1 || !census.twice_in_a_row, "a color is dealt twice in a row");
		report = color_report(fd);
		check(report.pages == PAGES && report.dealt == PAGES && report.in_set == PAGES,
		      "the report and the page map differ");
		expect_filled(at, PAGES);
		munmap(at, PAGES * COLOR_PAGE);
		check(color_report(fd).pages == 0, "unmapped pages are still in use");
		close(fd);
	}
}

static void one_recolor(int fd, unsigned char *at, unsigned int first, unsigned int count,
			uint64_t *fewest_all)
{
	struct pagemill_color_set set = color_range(first, count);
	struct census before = count_colors(at, PAGES, &set);
	struct pagemill_color_report old = color_report(fd), report;
	uint64_t fewest = color_fewest_moves(before.by_color, colors, &set);
	struct pagemill_color_recolor recolor = color_recolor(fd, set);

	check(recolor.pages == PAGES, "a change of colors forgets pages");
	if (recolor.planned != fewest)
		guest_fail("%d pages are to move, %d is the minimum", (int)recolor.planned,
			   (int)fewest);
	report = color_report(fd);
	check(report.copied == old.copied, "pages are copied before they are touched");
	check(report.pending == fewest, "not as many pages wait as are to move");
	check(report.flushes == old.flushes + (fewest > 0), "more than one flush");
	expect_filled(at, PAGES);
	report = color_report(fd);
	check(report.copied - old.copied == fewest,
	      "not every page that was to move was copied once");
	check(!report.pending && report.in_set == PAGES, "a touched page is not in its color");
	check(!report.pinned && !report.strays, "a page did not get its color");
	expect_even(at, PAGES, set, "after a change of colors");
	*fewest_all += fewest;
}

static void check_recoloring(void)
{
	static const unsigned int ranges[][2] = {
		{ 0, 32 }, { 32, 32 }, { 16, 32 }, { 0, 64 }, { 0, 1 },
		{ 0, 63 }, { 1, 63 },  { 7, 3 },   { 7, 3 },  { 6, 5 },
	};
	int fd = color_open();
	unsigned char *at = color_map(fd, PAGES);
	uint64_t fewest = 0;

	fill_all(at, PAGES);
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		one_recolor(fd, at, ranges[i][0], ranges[i][1], &fewest);
	guest_value("recolor_moved_pages", color_report(fd).copied, "pages");
	guest_value("recolor_minimum_pages", fewest, "pages");
	munmap(at, PAGES * COLOR_PAGE);
	close(fd);
}

/* Pages that are not touched are not copied; colors that come back cost no copy. */
static void check_laziness(void)
{
	struct pagemill_color_set low = color_range(0, 32), high = color_range(32, 32);
	int fd = color_open();
	unsigned char *at = color_map(fd, 640);
	struct pagemill_color_report report;

	color_set(fd, low, PAGEMILL_COLOR_RULE_ANY);
	fill_all(at, 640);
	check(color_recolor(fd, high).planned == 640, "a page stays in a color that is gone");
	for (size_t i = 0; i < 640; i++)
		check(color_frame(at + i * COLOR_PAGE) == COLOR_NO_FRAME,
		      "a page that is to move is mapped");
	expect_filled(at, 100);
	report = color_report(fd);
	check(report.copied == 100 && report.pending == 540, "untouched pages are copied");
	check(color_recolor(fd, low).planned == 100,
	      "a page that was never copied is to move back");
	expect_filled(at, 640);
	report = color_report(fd);
	check(report.copied == 200, "a page is copied though its frame had the right color");
	guest_value("never_touched_copied_pages", report.copied - 200, "pages");
	expect_even(at, 640, low, "back again");
	close(fd);
	check(color_is_filled(at + 5 * COLOR_PAGE, 5), "a mapping does not survive its file");
	munmap(at, 640 * COLOR_PAGE);
}

/* Parts of a mapping: unmapped, protected, released. */
static void check_parts(void)
{
	int fd = color_open();
	unsigned char *at = color_map(fd, 100);

	fill_all(at, 100);
	munmap(at + 10 * COLOR_PAGE, 10 * COLOR_PAGE);
	check(color_report(fd).pages == 90, "munmap of a part does not give back just that part");
	mprotect(at + 30 * COLOR_PAGE, 5 * COLOR_PAGE, PROT_NONE);
	mprotect(at + 40 * COLOR_PAGE, 5 * COLOR_PAGE, PROT_READ);
	mprotect(at + 30 * COLOR_PAGE, 15 * COLOR_PAGE, PROT_READ | PROT_WRITE);
	expect_filled(at, 10);
	for (size_t i = 20; i < 100; i++)
		check(color_is_filled(at + i * COLOR_PAGE, i), "mprotect loses content");
	color_release(fd, at + 25 * COLOR_PAGE, 20);
	check(color_report(fd).pages == 70, "release does not give back just what was asked for");
	for (size_t i = 25; i < 45; i++)
		check(color_is_zero(at + i * COLOR_PAGE), "a released page is not zero");
	check(color_is_filled(at + 24 * COLOR_PAGE, 24) &&
		      color_is_filled(at + 45 * COLOR_PAGE, 45),
	      "release takes a neighbor");
	check(!madvise(at + 50 * COLOR_PAGE, 10 * COLOR_PAGE, MADV_DONTNEED),
	      "MADV_DONTNEED is refused");
	check(color_is_filled(at + 55 * COLOR_PAGE, 55), "MADV_DONTNEED loses content");
	munmap(at, 100 * COLOR_PAGE);
	check(color_report(fd).pages == 0, "frames are left after munmap");
	close(fd);
}

static void check_refusals(void)
{
	int fd = color_open();
	unsigned char *at = color_map(fd, 10);
	size_t bytes = 10 * COLOR_PAGE;

	color_fill(at, 3);
	check(mremap(at, bytes, 2 * bytes, MREMAP_MAYMOVE) == MAP_FAILED && errno == EFAULT,
	      "a mapping can grow");
	check(mremap(at, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, (char *)at + (1 << 30)) ==
			      MAP_FAILED &&
		      errno == EINVAL,
	      "a mapping can move");
	check(mremap(at, 0, bytes, MREMAP_MAYMOVE) == MAP_FAILED, "a mapping can be doubled");
	check(color_is_filled(at, 3) && color_report(fd).pages == 1,
	      "a refused mremap loses content");
	check(mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED && errno == EINVAL,
	      "a private mapping is accepted");
	check(mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, COLOR_PAGE) == MAP_FAILED &&
		      errno == EINVAL,
	      "an offset is accepted");
	munmap(at, bytes);
	close(fd);
}

int main(void)
{
	int fd = color_open();

	colors = color_info(fd).colors;
	close(fd);
	check_dealing();
	check_recoloring();
	check_laziness();
	check_parts();
	check_refusals();
	color_expect_idle();
	return 0;
}
