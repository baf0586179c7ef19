// SPDX-License-Identifier: GPL-2.0
/*
 * Removing the module while tasks use it is refused; between tasks it goes,
 * with all of its memory.
 *
 *   color_unload MODULE.ko TIMES
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "color_space.h"
#include "guest.h"

#define PAGES	  300
#define WORKERS	  3
#define SLACK_KIB 8192

static int unload(void)
{
	return syscall(SYS_delete_module, "pagemill_color", O_NONBLOCK) ? errno : 0;
}

static void load(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || syscall(SYS_finit_module, fd, "", 0))
		guest_fail("cannot load %s: %s", path, strerror(errno));
	close(fd);
}

static long available_kib(void)
{
	char line[128];
	long kib = 0;
	FILE *file = fopen("/proc/meminfo", "re");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %ld kB", &kib) == 1)
			break;
	if (file)
		fclose(file);
	return kib;
}

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000ull + now.tv_nsec / 1000;
}

/*
 * Opens, maps, writes, checks, ends; again and again. It rests as long as it worked,
 * or no moment would come in which no worker has the module, on a kernel that is slow.
 */
__attribute__((noreturn)) static void work(uint64_t seed)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (uint64_t state = seed;;) {
		uint64_t began_us = now_us();
		int fd = open(COLOR_DEVICE, O_RDWR | O_CLOEXEC);
		unsigned char *at;

		if (fd < 0) {
			usleep(guest_random(&state) % 500);
			continue;
		}
		at = color_map(fd, PAGES);
		/* The mapping alone holds the module. */
		close(fd);
		for (size_t i = 0; i < PAGES; i++)
			color_fill(at + i * COLOR_PAGE, state + i);
		for (size_t i = 0; i < PAGES; i++)
			if (!color_is_filled(at + i * COLOR_PAGE, state + i))
				_exit(1);
		munmap(at, PAGES * COLOR_PAGE);
		usleep(guest_random(&state) % (3000 + 2 * (now_us() - began_us)));
	}
}

static void expect_refused_while_mapped(void)
{
	int fd = color_open();
	unsigned char *at = color_map(fd, 1);
	int error;

	close(fd);
	*at = 7;
	for (int i = 0; i < 100; i++) {
		error = unload();
		if (error != EBUSY && error != EWOULDBLOCK)
			guest_fail("the module goes though memory is mapped (%s)", strerror(error));
	}
	if (*at != 7)
		guest_fail("memory is lost");
	munmap(at, COLOR_PAGE);
}

int main(int argc, char **argv)
{
	unsigned long times, unloaded = 0, refused = 0;
	pid_t workers[WORKERS];
	long before_kib, after_kib;

	if (argc != 3)
		guest_fail("usage: color_unload MODULE.ko TIMES");
	times = strtoul(argv[2], NULL, 0);
	if (unload())
		guest_fail("the module cannot be removed though it is not in use");
	before_kib = available_kib();
	load(argv[1]);
	expect_refused_while_mapped();
	fflush(NULL);
	for (size_t i = 0; i < WORKERS; i++) {
		workers[i] = fork();
		if (!workers[i])
			work(i + 1);
	}
	while (unloaded < times) {
		if (unload()) {
			refused++;
			usleep(200);
			continue;
		}
		unloaded++;
		load(argv[1]);
	}
	for (size_t i = 0; i < WORKERS; i++) {
		int status;

		kill(workers[i], SIGKILL);
		waitpid(workers[i], &status, 0);
		if (!WIFSIGNALED(status))
			guest_fail("a worker found wrong bytes");
	}
	guest_value("unloaded", unloaded, "times");
	guest_value("refused", refused, "times");
	color_expect_idle();
	if (unload())
		guest_fail("the module does not go in the end");
	after_kib = available_kib();
	if (after_kib + SLACK_KIB < before_kib)
		guest_fail("%ld KiB of memory are gone", before_kib - after_kib);
	return 0;
}
