// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include "zero_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

#define IDLE_MS 100
#define LATE_US 20000

static struct zero_window *mine; /* for the signal handler */
static volatile sig_atomic_t lost_piece;

static char *piece_at(const struct zero_window *window, unsigned int index)
{
	return window->window + index * PAGEMILL_ZERO_PIECE_BYTES;
}

static bool map_pieces(struct zero_window *window, char *at, uint64_t bytes)
{
	uint64_t offset = PAGEMILL_ZERO_WINDOW_OFFSET + (at - window->window);

	return mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, window->fd,
		    offset) == at;
}

int zero_window_open(struct zero_window *window)
{
	uint64_t room = PAGEMILL_ZERO_WINDOW_BYTES + PAGEMILL_ZERO_PIECE_BYTES;
	uintptr_t start;

	window->fd = open(ZERO_DEVICE, O_RDWR | O_CLOEXEC);
	if (window->fd < 0)
		return errno;
	window->ring = mmap(NULL, PAGEMILL_ZERO_RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			    window->fd, 0);
	if (window->ring == MAP_FAILED)
		return errno;
	/* Aligned, so that a piece is mapped at once. */
	start = (uintptr_t)mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
				-1, 0);
	start = (start + PAGEMILL_ZERO_PIECE_BYTES - 1) & -PAGEMILL_ZERO_PIECE_BYTES;
	window->window = (char *)start;
	if (!map_pieces(window, window->window, PAGEMILL_ZERO_WINDOW_BYTES))
		return errno;
	window->cursor = __atomic_load_n(&window->ring->head, __ATOMIC_ACQUIRE);
	return 0;
}

/*
 * The piece was taken back while an engine was at it. The engine goes on with
 * memory that has no meaning.
 */
static void on_bus_error(int signal_number, siginfo_t *info, void *context)
{
	char *at = (char *)((uintptr_t)info->si_addr & -PAGEMILL_ZERO_PIECE_BYTES);

	(void)signal_number;
	(void)context;
	if (at < mine->window || at >= mine->window + PAGEMILL_ZERO_WINDOW_BYTES)
		_exit(2);
	if (mmap(at, PAGEMILL_ZERO_PIECE_BYTES, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != at)
		_exit(3);
	lost_piece = 1;
}

static void work_on(struct zero_window *window, unsigned int index, uint64_t seq,
		    enum zero_engine engine)
{
	struct pagemill_zero_entry *entry = &window->ring->entry[index];
	bool needs_reap = entry->flags & PAGEMILL_ZERO_NEEDS_REAP;

	if (engine == ZERO_ENGINE_STUCK)
		return;
	if (engine == ZERO_ENGINE_LATE)
		usleep(LATE_US);
	lost_piece = 0;
	if (engine != ZERO_ENGINE_NONE)
		memset(piece_at(window, index), 0, PAGEMILL_ZERO_PIECE_BYTES);
	if (lost_piece) {
		if (!map_pieces(window, piece_at(window, index), PAGEMILL_ZERO_PIECE_BYTES))
			_exit(4);
		return;
	}
	__atomic_store_n(&entry->done, seq, __ATOMIC_RELEASE);
	if (needs_reap)
		ioctl(window->fd, PAGEMILL_ZERO_IOC_REAP);
}

/* One pass over what is posted; whether there was anything. */
static bool serve_posted(struct zero_window *window, enum zero_engine engine)
{
	uint64_t head = __atomic_load_n(&window->ring->head, __ATOMIC_ACQUIRE);
	bool found = window->cursor != head;

	/* Whatever is older than a lap has been taken back. */
	if (head - window->cursor > PAGEMILL_ZERO_ENTRIES)
		window->cursor = head - PAGEMILL_ZERO_ENTRIES;
	for (; window->cursor != head; window->cursor++) {
		unsigned int index = window->cursor % PAGEMILL_ZERO_ENTRIES;
		uint64_t posted =
			__atomic_load_n(&window->ring->entry[index].posted, __ATOMIC_ACQUIRE);

		if (posted == window->cursor)
			work_on(window, index, posted, engine);
	}
	return found;
}

static void sleep_until_posted(struct zero_window *window)
{
	struct pollfd waiting = { .fd = window->fd, .events = POLLIN };

	__atomic_store_n(&window->ring->sleeping, 1, __ATOMIC_SEQ_CST);
	atomic_thread_fence(memory_order_seq_cst);
	if (window->cursor == __atomic_load_n(&window->ring->head, __ATOMIC_SEQ_CST) &&
	    poll(&waiting, 1, IDLE_MS) == 0)
		ioctl(window->fd, PAGEMILL_ZERO_IOC_REAP);
	__atomic_store_n(&window->ring->sleeping, 0, __ATOMIC_SEQ_CST);
}

/* Rubbish everywhere; now and then what it takes to be believed. */
__attribute__((noreturn)) static void scribble(struct zero_window *window)
{
	uint64_t *words = (uint64_t *)window->ring;
	uint64_t state = 3;

	for (;;) {
		uint64_t random = guest_random(&state);
		struct pagemill_zero_entry *entry =
			&window->ring->entry[random % PAGEMILL_ZERO_ENTRIES];

		entry->done = random & 1 << 20 ? random : entry->posted;
		if (random >> 56 == 0)
			words[random >> 32 & (PAGEMILL_ZERO_RING_BYTES / 8 - 1)] = random;
		if (random >> 52 == 1)
			ioctl(window->fd, PAGEMILL_ZERO_IOC_REAP);
		if (random >> 52 == 2)
			usleep(100);
	}
}

void zero_helper_serve(struct zero_window *window, enum zero_engine engine, bool busy)
{
	struct sigaction action = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };

	mine = window;
	sigaction(SIGBUS, &action, NULL);
	if (engine == ZERO_ENGINE_HOSTILE)
		scribble(window);
	for (;;) {
		if (serve_posted(window, engine))
			continue;
		if (busy)
			guest_pause();
		else
			sleep_until_posted(window);
	}
}

pid_t zero_helper_start(enum zero_engine engine, bool busy)
{
	struct zero_window window;
	int ready[2], error;
	pid_t helper;

	if (pipe(ready))
		guest_fail("no pipe: %s", strerror(errno));
	fflush(stdout);
	helper = fork();
	if (helper < 0)
		guest_fail("no helper: %s", strerror(errno));
	if (helper == 0) {
		/* It does not outlive a test that fails. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* The one before may still be on its way out. */
		while ((error = zero_window_open(&window)) == EBUSY)
			usleep(1000);
		if (write(ready[1], &error, sizeof(error)) != sizeof(error) || error)
			_exit(5);
		zero_helper_serve(&window, engine, busy);
	}
	if (read(ready[0], &error, sizeof(error)) != sizeof(error) || error)
		guest_fail("the helper cannot attach: %s", strerror(error));
	close(ready[0]);
	close(ready[1]);
	return helper;
}

pid_t zero_helper_run(const char *command)
{
	uint64_t before = zero_counter("helpers");
	char line[256];
	pid_t helper;

	snprintf(line, sizeof(line), "exec %s", command);
	fflush(stdout);
	helper = fork();
	if (helper < 0)
		guest_fail("no helper: %s", strerror(errno));
	if (helper == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl("/bin/sh", "sh", "-c", line, NULL);
		_exit(127);
	}
	while (zero_counter("helpers") == before) {
		if (waitpid(helper, NULL, WNOHANG) == helper)
			guest_fail("%s ended before it attached", command);
		usleep(10000);
	}
	return helper;
}

void zero_helper_kill(pid_t helper)
{
	kill(helper, SIGKILL);
	waitpid(helper, NULL, 0);
}

uint64_t zero_counter(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), ZERO_SYSFS "counters/%s", name);
	return guest_read_number(path);
}

void zero_set(const char *attribute, const char *text)
{
	char path[128];
	int error;

	snprintf(path, sizeof(path), ZERO_SYSFS "%s", attribute);
	error = guest_write(path, text);
	if (error == EOPNOTSUPP) {
		printf("%s %s: this kernel does not list what it needs\n", attribute, text);
		exit(GUEST_SKIPPED);
	}
	if (error)
		guest_fail("%s refuses %s: %s", path, text, strerror(error));
}
