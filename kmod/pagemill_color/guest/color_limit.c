// SPDX-License-Identifier: GPL-2.0
/*
 * What one user can take from the others: a part of the stock, and no more
 * memory than its control group has.
 *
 *   color_limit
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "color_space.h"
#include "guest.h"

#define LIMIT	    4096 /* pages */
#define SPACE_LIMIT 3072 /* three quarters */
#define GROUP	    "group"
#define GROUP_PAGES 4096
/* What the stock holds before: no charge is needed for it. */
#define STOCK_PAGES 256

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

/* One space takes what it can; another one still gets the rest. */
static void share_the_stock(void)
{
	int greedy = color_open(), modest = color_open();
	unsigned char *much = color_map(greedy, LIMIT);
	unsigned char *little = color_map(modest, LIMIT);
	size_t touched;

	color_set_stock(greedy, LIMIT, LIMIT, LIMIT);
	touched = touch_until_refused(much, LIMIT);
	if (touched != SPACE_LIMIT)
		guest_fail("one space got %zu pages of %d, not %d", touched, LIMIT, SPACE_LIMIT);
	touched = touch_until_refused(little, LIMIT);
	if (touched != LIMIT - SPACE_LIMIT)
		guest_fail("the other space got %zu pages, not the %d that are left", touched,
			   LIMIT - SPACE_LIMIT);
	/* What it gives back it may have again. */
	color_release(greedy, much, 10);
	touched = touch_until_refused(much, 10);
	if (touched != 10)
		guest_fail("%zu of 10 pages came back", touched);
	munmap(much, LIMIT * COLOR_PAGE);
	munmap(little, LIMIT * COLOR_PAGE);
	close(greedy);
	close(modest);
	color_expect_idle();
}

static void write_group(const char *file, const char *text)
{
	char path[128];
	int error;

	snprintf(path, sizeof(path), GROUP "/%s", file);
	error = guest_write(path, text);
	if (error)
		guest_fail("cannot write %s to %s: %s", text, path, strerror(error));
}

/* In the group: pages are taken until the group has no more. */
static void exhaust_group(void)
{
	int fd = color_open();
	unsigned char *at = color_map(fd, 4 * GROUP_PAGES);
	size_t touched;
	char text[32];

	snprintf(text, sizeof(text), "%d", getpid());
	write_group("inner/cgroup.procs", text);
	touched = touch_until_refused(at, 4 * GROUP_PAGES);
	guest_value("pages_of_a_group", touched, "pages");
	if (touched > GROUP_PAGES + STOCK_PAGES)
		guest_fail("a group of %d pages got %zu", GROUP_PAGES, touched);
	/* Blocks are large: the last one may not fit. */
	if (touched < GROUP_PAGES / 2)
		guest_fail("a group of %d pages got %zu only", GROUP_PAGES, touched);
	_exit(0);
}

static void keep_to_the_group(void)
{
	int fd = color_open(), status;
	char limit[32];
	pid_t child;

	/* As good as nothing is in stock, and there is room for more than the group has. */
	color_set_stock(fd, 8 * GROUP_PAGES, 0, 0);
	mkdir(GROUP, 0755);
	if (mount("none", GROUP, "cgroup2", 0, NULL))
		guest_fail("cannot mount control groups: %s", strerror(errno));
	write_group("cgroup.subtree_control", "+memory");
	mkdir(GROUP "/inner", 0755);
	snprintf(limit, sizeof(limit), "%d", GROUP_PAGES * COLOR_PAGE);
	write_group("inner/memory.max", limit);
	fflush(NULL);
	child = fork();
	if (!child)
		exhaust_group();
	waitpid(child, &status, 0);
	/* What the kernel itself needs for the mapping is charged, too: then the group's process is killed. */
	if (!(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) &&
	    (!WIFEXITED(status) || WEXITSTATUS(status)))
		guest_fail("the process in the group ended with status %#x", status);
	rmdir(GROUP "/inner");
	umount(GROUP);
	color_set_stock(fd, 1 << 16, 1 << 14, 0);
	close(fd);
	color_expect_idle();
}

int main(void)
{
	signal(SIGBUS, on_bus_error);
	share_the_stock();
	keep_to_the_group();
	return 0;
}
