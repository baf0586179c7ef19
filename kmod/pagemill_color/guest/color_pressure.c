// SPDX-License-Identifier: GPL-2.0
/*
 * Memory is short: the stock goes back to the kernel, and who has pages keeps
 * them with their content.
 *
 *   color_pressure STOCK_MIB NEED_MIB
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "color_space.h"
#include "guest.h"

#define MIB_PAGES 256
#define HELD	  2000

/* Ordinary memory, written. */
static void need(size_t mib)
{
	size_t bytes = mib << 20;
	unsigned char *at =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		_exit(2);
	for (size_t i = 0; i < bytes; i += COLOR_PAGE)
		at[i] = 1;
	_exit(0);
}

static void expect_held(const unsigned char *at, size_t pages)
{
	for (size_t i = 0; i < pages; i++)
		if (!color_is_filled(at + i * COLOR_PAGE, i))
			guest_fail("page %d has lost its content", (int)i);
}

int main(int argc, char **argv)
{
	struct pagemill_color_stock before, after;
	size_t stock_pages, need_mib;
	unsigned char *held;
	int fd, status;
	pid_t child;

	if (argc != 3)
		guest_fail("usage: color_pressure STOCK_MIB NEED_MIB");
	stock_pages = strtoul(argv[1], NULL, 0) * MIB_PAGES;
	need_mib = strtoul(argv[2], NULL, 0);
	fd = color_open();
	held = color_map(fd, 2 * HELD);
	color_set(fd, color_range(3, 11), PAGEMILL_COLOR_RULE_ANY);
	for (size_t i = 0; i < HELD; i++)
		color_fill(held + i * COLOR_PAGE, i);
	color_set_stock(fd, stock_pages + 2 * HELD, stock_pages, stock_pages);
	before = color_stock(fd);
	fflush(NULL);
	child = fork();
	if (!child)
		need(need_mib);
	/* Colors change and pages are dealt while memory is short. */
	for (size_t i = 0; waitpid(child, &status, WNOHANG) == 0; i++) {
		color_recolor(fd, color_range(i % 50, 11));
		for (size_t page = 0; page < HELD; page += 7)
			if (!color_is_filled(held + page * COLOR_PAGE, page))
				guest_fail("page %d has lost its content", (int)page);
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		guest_fail("%zu MiB cannot be had though the stock holds them: status %#x",
			   need_mib, status);
	after = color_stock(fd);
	if (after.shrunk_pages == before.shrunk_pages)
		guest_fail("the shrinker did not run: %d pages are in stock",
			   (int)after.stocked_pages);
	guest_value("stocked_before", before.stocked_pages, "pages");
	guest_value("given_back", after.shrunk_pages - before.shrunk_pages, "pages");
	for (size_t i = HELD; i < 2 * HELD; i++)
		color_fill(held + i * COLOR_PAGE, i);
	expect_held(held, 2 * HELD);
	munmap(held, 2 * HELD * COLOR_PAGE);
	color_set_stock(fd, 1 << 16, 1 << 14, 0);
	close(fd);
	color_expect_idle();
	return 0;
}
