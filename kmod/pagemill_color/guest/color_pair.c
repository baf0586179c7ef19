// SPDX-License-Identifier: GPL-2.0
/*
 * Two tasks that share a cache, each on a CPU: one uses a small set of pages
 * again and again, the other streams through more than the cache holds.
 *
 *   color_pair NAME FIRST1 COUNT1 FIRST2 COUNT2
 *
 * To be run on a module that was just loaded: its spaces are tasks 1 and 2.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "color_space.h"
#include "guest.h"
#include "observe.h"

#define LINE	     64
#define REUSED_PAGES 384  /* 1.5 MiB */
#define STREAM_PAGES 2048 /* 8 MiB */

/* Passes of each while it is watched, in turns: so that the counts do not depend on who ran when. */
#define PASSES	     5

/* What the tasks tell each other. */
static struct {
	atomic_int ready;
	atomic_int turns; /* -1 before the first */
	atomic_int wrong;
	atomic_int stopped;
	atomic_bool leave;
} *shared;

static void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		guest_fail("cannot run on CPU %d: %s", cpu, strerror(errno));
}

static uint64_t pass(volatile unsigned char *at, size_t pages)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < pages * COLOR_PAGE; i += LINE) {
		uint64_t value = *(volatile uint64_t *)(at + i) + 1;

		*(volatile uint64_t *)(at + i) = value;
		sum += value;
	}
	return sum;
}

static void wait_for(atomic_bool *flag)
{
	while (!atomic_load(flag))
		sched_yield();
}

static void wait_for_turn(int turn)
{
	while (atomic_load(&shared->turns) != turn)
		sched_yield();
}

static void check_colors(unsigned char *at, size_t pages, struct pagemill_color_set set, int fd)
{
	for (size_t i = 0; i < pages; i++)
		if (!color_has(&set, color_of(at + i * COLOR_PAGE, color_info(fd).colors)))
			atomic_fetch_add(&shared->wrong, 1);
}

static pid_t start(int fd, int cpu, bool streams, struct pagemill_color_set set)
{
	size_t pages = streams ? STREAM_PAGES : REUSED_PAGES;
	unsigned char *at;
	pid_t task;

	fflush(NULL);
	task = fork();
	if (task)
		return task;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	run_on(cpu);
	at = color_map(fd, pages);
	pass(at, pages);
	atomic_fetch_add(&shared->ready, 1);
	for (int i = 0; i < PASSES; i++) {
		wait_for_turn(2 * i + streams);
		if (pass(at, pages) != (i + 2ULL) * pages * (COLOR_PAGE / LINE))
			atomic_fetch_add(&shared->wrong, 1);
		atomic_fetch_add(&shared->turns, 1);
	}
	atomic_fetch_add(&shared->stopped, 1);
	/* Frames keep their owner until all is counted. */
	wait_for(&shared->leave);
	check_colors(at, pages, set, fd);
	_exit(0);
}

static void expect_success(pid_t task)
{
	int status;

	waitpid(task, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		guest_fail("a task ended with status %#x", status);
}

int main(int argc, char **argv)
{
	struct pagemill_color_set sets[2];
	pid_t tasks[2];
	int fds[2];

	if (argc != 6)
		guest_fail("usage: color_pair NAME FIRST1 COUNT1 FIRST2 COUNT2");
	shared = mmap(NULL, COLOR_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	atomic_store(&shared->turns, -1);
	for (int i = 0; i < 2; i++) {
		sets[i] = color_range(atoi(argv[2 + 2 * i]), atoi(argv[3 + 2 * i]));
		fds[i] = color_open();
		if (color_info(fds[i]).space != (unsigned int)i + 1)
			guest_fail("the module was not just loaded");
		color_set(fds[i], sets[i], PAGEMILL_COLOR_RULE_FAIL);
	}
	for (int i = 0; i < 2; i++)
		tasks[i] = start(fds[i], i, i == 1, sets[i]);
	while (atomic_load(&shared->ready) != 2)
		sched_yield();
	observe_begin();
	atomic_store(&shared->turns, 0);
	while (atomic_load(&shared->stopped) != 2)
		usleep(1000);
	observe_end(argv[1]);
	atomic_store(&shared->leave, true);
	for (int i = 0; i < 2; i++)
		expect_success(tasks[i]);
	if (atomic_load(&shared->wrong))
		guest_fail("%d pages are not in their color, or have wrong bytes",
			   atomic_load(&shared->wrong));
	return 0;
}
