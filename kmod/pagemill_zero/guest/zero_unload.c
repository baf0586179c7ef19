// SPDX-License-Identifier: GPL-2.0
/*
 * Loads and unloads the module again and again while pages are faulted and
 * freed, in every safe mode, with a helper that is killed.
 *
 *   zero_unload MODULE.ko TIMES
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest.h"
#include "zero_helper.h"

#define PAGE_BYTES ((size_t)2 << 20)
#define PAGES_EACH 8
#define STEP_BYTES 4096

static atomic_bool over;
static atomic_ullong leaked, faulted;

/* A page that is not zero, or does not keep what is written. */
static bool is_broken(volatile char *page)
{
	bool broken = false;

	for (size_t at = 0; at < PAGE_BYTES; at += STEP_BYTES) {
		broken |= page[at + at / STEP_BYTES] != 0;
		page[at + at / STEP_BYTES] = 0x5a;
	}
	return broken;
}

static void *fault_and_free(void *unused)
{
	(void)unused;
	while (!atomic_load(&over)) {
		char *pages = guest_map_pages(PAGES_EACH, PAGE_BYTES);

		for (size_t i = 0; i < PAGES_EACH; i++) {
			atomic_fetch_add(&leaked, is_broken(pages + i * PAGE_BYTES));
			atomic_fetch_add(&faulted, 1);
		}
		guest_unmap_pages(pages, PAGES_EACH, PAGE_BYTES);
	}
	return NULL;
}

static int unload(void)
{
	return syscall(SYS_delete_module, "pagemill_zero", O_NONBLOCK) ? errno : 0;
}

static void load(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || syscall(SYS_finit_module, fd, "", 0))
		guest_fail("cannot load %s: %s", path, strerror(errno));
	close(fd);
}

static void one_time(const char *path, unsigned int number)
{
	static const char *const modes[] = { "pool", "on-free", "offload-wait" };
	uint64_t state = number;
	pid_t helper;

	/* Without the pool where the kernel has none. */
	if (guest_write(ZERO_SYSFS "mode", modes[number % 3]) == EOPNOTSUPP)
		zero_set("mode", modes[1 + number / 3 % 2]);
	helper = zero_helper_start(ZERO_ENGINE_STORES, number % 2);
	usleep(guest_random(&state) % 30000);
	if (unload() == 0)
		guest_fail("the module goes while a helper is attached");
	zero_helper_kill(helper);
	usleep(guest_random(&state) % 3000);
	for (int tries = 0; unload() != 0; tries++) {
		if (tries == 1000)
			guest_fail("the module does not go: %s", strerror(errno));
		usleep(1000);
	}
	usleep(guest_random(&state) % 5000);
	load(path);
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	if (argc != 3)
		guest_fail("usage: zero_unload MODULE.ko TIMES");
	for (size_t i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, fault_and_free, NULL);
	for (unsigned int number = 0; number < strtoul(argv[2], NULL, 0); number++)
		one_time(argv[1], number);
	atomic_store(&over, true);
	for (size_t i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	guest_value("faults", atomic_load(&faulted), "faults");
	guest_value("leaked", atomic_load(&leaked), "pages");
	if (atomic_load(&leaked))
		guest_fail("%llu pages leaked or were wiped", atomic_load(&leaked));
	return 0;
}
