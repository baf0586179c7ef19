// SPDX-License-Identifier: GPL-2.0
/*
 * kill -9 at points that are spread evenly over a change of colors, be it the
 * task's own or made for it by another: no frame is left behind.
 *
 *   color_kill ROUNDS
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "color_space.h"
#include "guest.h"

#define PAGES 1024

static unsigned char *memory;

static void touch_all(void)
{
	for (size_t i = 0; i < PAGES; i++)
		(*(volatile uint64_t *)(memory + i * COLOR_PAGE))++;
}

static void *keep_touching(void *unused)
{
	(void)unused;
	for (;;)
		touch_all();
	return NULL;
}

/* From one half of the colors to the other and back, for ever. */
__attribute__((noreturn)) static void be_task(int fd, int ready, bool recolors)
{
	pthread_t thread;
	char byte = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	memory = color_map(fd, PAGES);
	touch_all();
	pthread_create(&thread, NULL, keep_touching, NULL);
	if (write(ready, &byte, 1) != 1)
		_exit(1);
	for (unsigned int half = 0;; half ^= 1) {
		if (recolors)
			color_recolor(fd, color_range(half * 32, 32));
		touch_all();
	}
}

/* Ticks of a change of colors with all pages touched before. */
static uint64_t measure(void)
{
	int fd = color_open();
	uint64_t start;

	memory = color_map(fd, PAGES);
	touch_all();
	start = guest_ticks();
	color_recolor(fd, color_range(0, 32));
	touch_all();
	color_recolor(fd, color_range(32, 32));
	touch_all();
	start = guest_ticks() - start;
	munmap(memory, PAGES * COLOR_PAGE);
	close(fd);
	return start;
}

static void one_round(uint64_t wait_ticks, bool by_itself)
{
	int fd = color_open(), ready[2];
	uint64_t start;
	pid_t task;
	char byte;

	if (pipe(ready))
		guest_fail("no pipe: %s", strerror(errno));
	task = fork();
	if (!task)
		be_task(fd, ready[1], by_itself);
	if (task < 0 || read(ready[0], &byte, 1) != 1)
		guest_fail("no task: %s", strerror(errno));
	start = guest_ticks();
	if (by_itself) {
		while (guest_ticks() - start < wait_ticks)
			;
		kill(task, SIGKILL);
	} else {
		pid_t killer = fork();

		if (!killer) {
			while (guest_ticks() - start < wait_ticks)
				;
			kill(task, SIGKILL);
			_exit(0);
		}
		for (unsigned int half = 0; waitpid(killer, NULL, WNOHANG) == 0; half ^= 1)
			color_recolor(fd, color_range(half * 32, 32));
	}
	waitpid(task, NULL, 0);
	if (color_report(fd).pages)
		guest_fail("a killed task has %d frames", (int)color_report(fd).pages);
	close(ready[0]);
	close(ready[1]);
	close(fd);
	color_expect_idle();
}

int main(int argc, char **argv)
{
	unsigned long rounds, round;
	uint64_t ticks;

	if (argc != 2)
		guest_fail("usage: color_kill ROUNDS");
	rounds = strtoul(argv[1], NULL, 0);
	ticks = measure();
	for (round = 0; round < rounds; round++)
		one_round(ticks * round / rounds, round % 2);
	guest_value("killed", rounds, "tasks");
	return 0;
}
