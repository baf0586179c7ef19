// SPDX-License-Identifier: GPL-2.0
/*
 * fork(2): what one process writes, no other sees, whichever lives longer and
 * whatever colors do meanwhile.
 *
 *   color_fork ROUNDS
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "color_space.h"
#include "guest.h"

#define PAGES 200

static void check(bool holds, const char *what)
{
	if (!holds)
		guest_fail("%s", what);
}

static pid_t start(void)
{
	pid_t child;

	fflush(NULL);
	child = fork();
	check(child >= 0, "fork fails");
	return child;
}

static void expect_success(pid_t child)
{
	int status;

	check(waitpid(child, &status, 0) == child, "a child is lost");
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		guest_fail("a child ended with status %#x", status);
}

static void fill_from(unsigned char *at, uint64_t key)
{
	for (size_t i = 0; i < PAGES; i++)
		color_fill(at + i * COLOR_PAGE, key + i);
}

static void expect_from(const unsigned char *at, uint64_t key, const char *who)
{
	for (size_t i = 0; i < PAGES; i++)
		if (!color_is_filled(at + i * COLOR_PAGE, key + i))
			guest_fail("%s does not find its page %d", who, (int)i);
}

/* Reads from a page, then writes to it: in one instruction, where the processor has such a one. */
static void copy_within(unsigned char *page)
{
	volatile unsigned char *from = page, *to = page + 2048;

#ifdef __x86_64__
	__asm__ volatile("movsb" : "+S"(from), "+D"(to) : : "memory");
#else
	*to = *from;
#endif
}

/* Reading shares frames, writing parts them. */
static void check_copy_on_write(void)
{
	int fd = color_open(), go[2], done[2];
	unsigned char *at = color_map(fd, PAGES);
	pid_t child;
	char byte = 0;

	check(!pipe(go) && !pipe(done), "no pipe");
	fill_from(at, 1000);
	child = start();
	if (!child) {
		expect_from(at, 1000, "the child");
		check(color_report(fd).pages == PAGES, "reading copies pages");
		check(write(done[1], &byte, 1) == 1 && read(go[0], &byte, 1) == 1,
		      "no word from the parent");
		expect_from(at, 1000, "the child, after the parent wrote,");
		color_fill(at, 77);
		check(color_is_filled(at, 77), "the child does not find what it wrote");
		copy_within(at + 60 * COLOR_PAGE);
		__atomic_fetch_add((uint64_t *)(at + 61 * COLOR_PAGE), 1, __ATOMIC_SEQ_CST);
		check(at[60 * COLOR_PAGE] == at[60 * COLOR_PAGE + 2048],
		      "a copy within a page is lost");
		_exit(0);
	}
	check(read(done[0], &byte, 1) == 1, "no word from the child");
	expect_from(at, 1000, "the parent");
	for (size_t i = 0; i < 50; i++)
		color_fill(at + i * COLOR_PAGE, i);
	check(color_report(fd).pages == PAGES + 50,
	      "not each written page was copied, and no other");
	check(color_report(fd).cow_copied == 50, "copies are miscounted");
	check(write(go[1], &byte, 1) == 1, "no word to the child");
	expect_success(child);
	check(color_report(fd).pages == PAGES, "a dead child has frames");
	for (size_t i = 0; i < PAGES; i++)
		check(color_is_filled(at + i * COLOR_PAGE, i < 50 ? i : 1000 + i),
		      "the parent has lost content");
	/* The child wrote to two pages that were still shared. Alone again: written in place. */
	check(color_report(fd).cow_copied == 52, "the child's copies are miscounted");
	fill_from(at, 5);
	check(color_report(fd).cow_copied == 52, "pages of one process are copied");
	close(go[0]);
	close(go[1]);
	close(done[0]);
	close(done[1]);
	munmap(at, PAGES * COLOR_PAGE);
	close(fd);
}

/* A change of colors reaches parent and child, and copies a shared page once. */
static void check_recolor_of_shared(void)
{
	struct pagemill_color_set high = color_range(32, 32);
	int fd = color_open(), go[2], done[2];
	unsigned char *at = color_map(fd, PAGES);
	pid_t child;
	char byte = 0;

	check(!pipe(go) && !pipe(done), "no pipe");
	color_set(fd, color_range(0, 32), PAGEMILL_COLOR_RULE_ANY);
	fill_from(at, 9);
	child = start();
	if (!child) {
		expect_from(at, 9, "the child");
		check(write(done[1], &byte, 1) == 1 && read(go[0], &byte, 1) == 1, "no parent");
		expect_from(at, 9, "the child, in other colors,");
		for (size_t i = 0; i < PAGES; i++)
			check(color_has(&high,
					color_of(at + i * COLOR_PAGE, color_info(fd).colors)),
			      "a child's page keeps its color");
		_exit(0);
	}
	check(read(done[0], &byte, 1) == 1, "no child");
	check(color_recolor(fd, high).planned == PAGES, "shared pages count twice, or not");
	expect_from(at, 9, "the parent, in other colors,");
	check(write(go[1], &byte, 1) == 1, "no child");
	expect_success(child);
	check(color_report(fd).copied == PAGES, "a shared page is not copied once");
	close(go[0]);
	close(go[1]);
	close(done[0]);
	close(done[1]);
	munmap(at, PAGES * COLOR_PAGE);
	close(fd);
}

/* Direct I/O goes on writing to the frame that it was given: the frame stays with who asked. */
static void check_pinned(void)
{
	int fd = color_open(), ends[2];
	unsigned char *at = color_map(fd, 1);
	struct iovec {
		void *base;
		size_t bytes;
	} part = { at, COLOR_PAGE };
	static unsigned char read_back[COLOR_PAGE];

	check(!pipe(ends), "no pipe");
	color_set(fd, color_range(0, 1), PAGEMILL_COLOR_RULE_ANY);
	color_fill(at, 1);
	/* vmsplice keeps the frame in the pipe until it is read. */
	check(vmsplice(ends[1], (void *)&part, 1, 0) == COLOR_PAGE, "vmsplice fails");
	check(color_recolor(fd, color_range(1, 1)).planned == 1, "nothing is to move");
	check(color_is_filled(at, 1), "content is lost");
	check(color_report(fd).pinned == 1 && !color_report(fd).copied,
	      "a frame that is held was left");
	check(read(ends[0], read_back, COLOR_PAGE) == COLOR_PAGE && color_is_filled(read_back, 1),
	      "the pipe has lost content");
	check(color_recolor(fd, color_range(1, 1)).planned == 1, "it is not tried again");
	check(color_is_filled(at, 1) && color_report(fd).copied == 1,
	      "it is not copied when it is free");
	check(vmsplice(ends[1], (void *)&part, 1, 0) == COLOR_PAGE, "vmsplice fails");
	munmap(at, COLOR_PAGE);
	check(read(ends[0], read_back, COLOR_PAGE) == COLOR_PAGE && color_is_filled(read_back, 1),
	      "a frame was used again while a pipe held it");
	close(ends[0]);
	close(ends[1]);
	close(fd);
}

static unsigned char *shared_at;
static atomic_bool over;

/* Each thread writes pages of its own and looks whether they stay. */
static void *write_and_check(void *argument)
{
	size_t me = (uintptr_t)argument;
	uint64_t key = me << 40, wrong = 0;

	while (!atomic_load(&over)) {
		key++;
		for (size_t i = me; i < PAGES; i += 2)
			color_fill(shared_at + i * COLOR_PAGE, key + i);
		for (size_t i = me; i < PAGES; i += 2)
			wrong += !color_is_filled(shared_at + i * COLOR_PAGE, key + i);
	}
	return (void *)(uintptr_t)wrong;
}

/* A child sees one moment of each page, keeps it, and writes its own. */
__attribute__((noreturn)) static void be_child(uint64_t number)
{
	static unsigned char before[PAGES][64];

	for (size_t i = 0; i < PAGES; i++)
		memcpy(before[i], shared_at + i * COLOR_PAGE, 64);
	usleep(number * 7919 % 20000);
	for (size_t i = 0; i < PAGES; i++)
		if (memcmp(before[i], shared_at + i * COLOR_PAGE, 64))
			_exit(2);
	fill_from(shared_at, number);
	usleep(number * 104729 % 10000);
	expect_from(shared_at, number, "a child");
	_exit(0);
}

/* Threads write, children come and go, colors change. */
static void check_all_at_once(unsigned int rounds)
{
	int fd = color_open();
	pthread_t threads[2];
	void *wrong;
	uint64_t state = 5;

	shared_at = color_map(fd, PAGES);
	fill_from(shared_at, 0);
	for (size_t i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, write_and_check, (void *)i);
	for (unsigned int round = 0; round < rounds; round++) {
		pid_t children[2];

		for (size_t i = 0; i < 2; i++) {
			children[i] = start();
			if (!children[i])
				be_child(round * 2 + i);
			color_recolor(fd, color_range(guest_random(&state) % 32,
						      1 + guest_random(&state) % 32));
		}
		if (round % 4 == 3)
			kill(children[0], SIGKILL);
		for (size_t i = 0; i < 2; i++) {
			if (round % 4 == 3 && i == 0)
				waitpid(children[0], NULL, 0);
			else
				expect_success(children[i]);
		}
	}
	atomic_store(&over, true);
	for (size_t i = 0; i < 2; i++) {
		pthread_join(threads[i], &wrong);
		check(!wrong, "a thread has lost what it wrote");
	}
	guest_value("forks", rounds * 2, "forks");
	guest_value("copied_on_write", color_report(fd).cow_copied, "pages");
	guest_value("copied_to_other_colors", color_report(fd).copied, "pages");
	munmap(shared_at, PAGES * COLOR_PAGE);
	check(!color_report(fd).pages, "frames are left");
	close(fd);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		guest_fail("usage: color_fork ROUNDS");
	check_copy_on_write();
	check_recolor_of_shared();
	check_pinned();
	check_all_at_once(strtoul(argv[1], NULL, 0));
	color_expect_idle();
	return 0;
}
