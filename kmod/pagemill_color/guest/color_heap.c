// SPDX-License-Identifier: GPL-2.0
/*
 * A program like any other: its memory is that of malloc, which is preloaded.
 * It knows what its blocks hold, and looks where they are.
 *
 *   color_heap blocks FIRST COUNT       threads, a fork and an exec; all blocks are in these colors
 *   color_heap changes NAME FOLDER MIB  fills so much memory; makes FOLDER/NAME.0, and FOLDER/NAME.1, .. after each
 *                                       change of its colors that moved the fewest pages and lost no byte; ends when
 *                                       there is FOLDER/NAME.leave
 *   color_heap stream MIB PASSES        goes through so much memory again and again
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "color_space.h"
#include "color_view.h"
#include "guest.h"

#define THREADS	  4
#define BLOCKS	  300
#define STEPS	  3000
#define LOOK_US	  10000
#define LOOKS_MAX 60000 /* ten minutes */
#define LINE	  64

static int space;
static unsigned int colors;

static void find_space(void)
{
	space = color_own_space();
	if (space < 0)
		guest_fail("the program has no space: is the library preloaded?");
	colors = color_info(space).colors;
}

static void expect_colors(const struct pagemill_color_set *set, const char *who)
{
	struct color_view view;

	if (!color_look_at(getpid(), colors, set, &view))
		guest_fail("%s: cannot look at its own memory", who);
	if (!view.colored_pages || view.outside_pages || view.plain_pages)
		guest_fail("%s: %d of %d pages outside the colors, %d of plain memory", who,
			   (int)view.outside_pages, (int)view.colored_pages, (int)view.plain_pages);
}

struct block {
	unsigned char *at;
	size_t bytes;
	unsigned char key;
};

static void put(struct block *block, size_t from)
{
	memset(block->at + from, block->key, block->bytes - from);
}

static void expect_kept(const struct block *block)
{
	for (size_t i = 0; i < block->bytes; i++)
		if (block->at[i] != block->key)
			guest_fail("a block of %zu bytes has lost byte %zu", block->bytes, i);
}

/* From 1 byte to 128 KiB, small ones mostly. */
static size_t some_size(uint64_t *state)
{
	unsigned int bits = guest_random(state) % 18;

	bits = guest_random(state) % 4 ? bits % 13 : bits;
	return 1 + guest_random(state) % (1ull << bits);
}

static void change_block(struct block *block, uint64_t *state)
{
	size_t bytes = some_size(state), kept = bytes < block->bytes ? bytes : block->bytes;

	if (!block->at || guest_random(state) % 2) {
		if (block->at)
			expect_kept(block);
		free(block->at);
		block->at = malloc(bytes);
		kept = 0;
	} else {
		block->at = realloc(block->at, bytes);
	}
	if (!block->at)
		guest_fail("no memory for %zu bytes", bytes);
	block->bytes = bytes;
	if (!kept)
		block->key = guest_random(state);
	put(block, kept);
}

static void *use_blocks(void *number)
{
	static const size_t samples = 20;
	struct block *blocks = calloc(BLOCKS, sizeof(*blocks));
	uint64_t state = (uintptr_t)number;

	for (int step = 0; step < STEPS; step++)
		change_block(&blocks[guest_random(&state) % BLOCKS], &state);
	for (size_t i = 0; i < BLOCKS; i++)
		if (blocks[i].at)
			expect_kept(&blocks[i]);
	for (size_t i = 0; i < samples; i++)
		if (blocks[i].at && !color_is_colored(blocks[i].at, blocks[i].bytes))
			guest_fail("a block of %zu bytes is not in colored memory",
				   blocks[i].bytes);
	return blocks;
}

static void expect_child_ends_well(pid_t child, const char *what)
{
	int status;

	if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status))
		guest_fail("%s ended with status %#x", what, status);
}

static void run_blocks(char **argv)
{
	struct pagemill_color_set set = color_range(atoi(argv[2]), atoi(argv[3]));
	pthread_t threads[THREADS];
	struct block *blocks;
	void *left;
	pid_t child;

	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, use_blocks, (void *)(i + 1)))
			guest_fail("cannot start a thread");
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], &left);
	blocks = left;
	expect_colors(&set, "after the threads");
	fflush(NULL);
	child = fork();
	if (!child) {
		for (size_t i = 0; i < BLOCKS; i++)
			if (blocks[i].at)
				put(&blocks[i], 0);
		use_blocks((void *)99);
		expect_colors(&set, "child");
		/* Once more as a new program, which knows of nothing. */
		if (!getenv("COLOR_HEAP_AGAIN")) {
			setenv("COLOR_HEAP_AGAIN", "1", 1);
			execv("/proc/self/exe", argv);
		}
		_exit(0);
	}
	use_blocks((void *)100);
	expect_child_ends_well(child, "the child");
	expect_colors(&set, "after the child");
}

static void mark(const char *folder, const char *name, int number)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s.%d", folder, name, number);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	if (fd < 0)
		guest_fail("cannot make %s: %s", path, strerror(errno));
	close(fd);
}

static bool has_to_leave(const char *folder, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s.leave", folder, name);
	return !access(path, F_OK);
}

/* Where its frames are, when nothing happens. */
struct census {
	struct pagemill_color_report report;
	uint64_t by_color[PAGEMILL_COLOR_COLORS_MAX];
};

static struct census census_now, census_before;

static void count(struct census *census)
{
	census->report = color_count_frames(space, census->by_color, PAGEMILL_COLOR_COLORS_MAX);
}

static bool has_other_colors(void)
{
	struct pagemill_color_report report = color_report(space);

	return memcmp(&report.choice.set, &census_before.report.choice.set,
		      sizeof(report.choice.set));
}

static void expect_all_filled(const unsigned char *memory, size_t pages)
{
	for (size_t i = 0; i < pages; i++)
		if (!color_is_filled(memory + i * COLOR_PAGE, i))
			guest_fail("page %zu has lost its content", i);
}

/* After a change of colors; how many pages it moved, which is the minimum. */
static uint64_t check_change(const unsigned char *memory, size_t pages)
{
	const struct pagemill_color_report *now = &census_now.report,
					   *before = &census_before.report;
	uint64_t fewest, moves;

	expect_all_filled(memory, pages);
	count(&census_now);
	fewest = color_fewest_moves(census_before.by_color, colors, &now->choice.set);
	moves = now->copied - before->copied + now->pending;
	if (now->pages != before->pages)
		guest_fail("a change of colors turns %d pages into %d", (int)before->pages,
			   (int)now->pages);
	if (moves != fewest)
		guest_fail("%d pages move, %d is the minimum", (int)moves, (int)fewest);
	if (now->strays || now->pinned || now->in_set + now->pending < now->pages)
		guest_fail("a page that was touched is not in its color");
	return moves;
}

static void tell(const char *name, const char *what, uint64_t number)
{
	char full[80];

	snprintf(full, sizeof(full), "%s.%s", name, what);
	guest_value(full, number, "pages");
}

/* Nothing is allocated while changes are waited for, so that pages stay the same. */
static void run_changes(const char *name, const char *folder, size_t mib)
{
	size_t pages = (mib << 20) / COLOR_PAGE;
	unsigned char *memory = aligned_alloc(COLOR_PAGE, pages * COLOR_PAGE);
	uint64_t moved = 0;
	int changes = 0;

	for (size_t i = 0; i < pages; i++)
		color_fill(memory + i * COLOR_PAGE, i);
	tell(name, "filled_pages", pages);
	count(&census_before);
	mark(folder, name, changes);
	for (int looks = 0; !has_to_leave(folder, name); looks++) {
		if (looks == LOOKS_MAX)
			guest_fail("%s gave up waiting for another change", name);
		usleep(LOOK_US);
		if (!has_other_colors())
			continue;
		moved += check_change(memory, pages);
		census_before = census_now;
		mark(folder, name, ++changes);
	}
	expect_all_filled(memory, pages);
	expect_colors(&census_before.report.choice.set, name);
	tell(name, "moved_pages_all_of_them_needed", moved);
}

static void run_stream(size_t mib, unsigned int passes)
{
	size_t bytes = mib << 20;
	unsigned char *memory = calloc(1, bytes);
	uint64_t sum = 0;

	for (unsigned int pass = 0; pass < passes; pass++)
		for (size_t i = 0; i < bytes; i += LINE)
			sum += ++*(volatile uint64_t *)(memory + i);
	if (sum != (uint64_t)passes * (passes + 1) / 2 * (bytes / LINE))
		guest_fail("the sum is %llu", (unsigned long long)sum);
}

int main(int argc, char **argv)
{
	find_space();
	if (argc == 4 && !strcmp(argv[1], "blocks"))
		run_blocks(argv);
	else if (argc == 5 && !strcmp(argv[1], "changes"))
		run_changes(argv[2], argv[3], atoi(argv[4]));
	else if (argc == 4 && !strcmp(argv[1], "stream"))
		run_stream(atoi(argv[2]), atoi(argv[3]));
	else
		guest_fail(
			"usage: color_heap blocks FIRST COUNT | changes NAME FOLDER MIB | stream MIB PASSES");
	return 0;
}
