// SPDX-License-Identifier: GPL-2.0
/* What the device must refuse. No page is cleaned here. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"
#include "zero_helper.h"

static void must_not_map(int fd, size_t bytes, int protection, int flags, off_t offset,
			 const char *what)
{
	void *at = mmap(NULL, bytes, protection, flags, fd, offset);

	if (at != MAP_FAILED)
		guest_fail("%s can be mapped", what);
	if (errno != EINVAL && errno != EOVERFLOW)
		guest_fail("mapping %s fails with %s", what, strerror(errno));
}

static void check_mappings(const struct zero_window *window)
{
	const int both = PROT_READ | PROT_WRITE;
	const off_t end = PAGEMILL_ZERO_WINDOW_OFFSET + PAGEMILL_ZERO_WINDOW_BYTES;

	must_not_map(window->fd, 4096, both, MAP_PRIVATE, 0, "a private ring");
	must_not_map(window->fd, 8192, both, MAP_SHARED, 0, "more than the ring");
	must_not_map(window->fd, 4096, both | PROT_EXEC, MAP_SHARED, 0, "an executable ring");
	must_not_map(window->fd, 4096, both, MAP_SHARED, 4096, "what is after the ring");
	must_not_map(window->fd, 4096, both, MAP_PRIVATE, PAGEMILL_ZERO_WINDOW_OFFSET,
		     "a private window");
	must_not_map(window->fd, 8192, both, MAP_SHARED, end - 4096, "more than the window");
	must_not_map(window->fd, 4096, both, MAP_SHARED, end, "what is after the window");
	must_not_map(window->fd, 4096, both, MAP_SHARED, 0x7ffffffffffff000, "the far end");
	if (!mprotect(window->ring, 4096, PROT_READ | PROT_EXEC))
		guest_fail("the ring can be made executable");
}

/* The signal that a child dies of when it touches `at`; 0 if it does not. */
static int signal_of_touching(volatile char *at)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		signal(SIGBUS, SIG_DFL);
		*at = 1;
		_exit(0);
	}
	waitpid(child, &status, 0);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void on_bus_error(int signal_number)
{
	(void)signal_number;
	_exit(0);
}

/* Nothing is posted, so every touch is a bus error; children have no window at all. */
static void check_touching(const struct zero_window *window)
{
	pid_t child;
	int status;

	if (signal_of_touching(window->window) != SIGSEGV)
		guest_fail("a child of the helper has the window");
	signal(SIGBUS, on_bus_error);
	child = fork();
	if (child == 0) {
		/* Its own mapping, which a helper's child can make. */
		volatile char *at = mmap(NULL, PAGEMILL_ZERO_PIECE_BYTES, PROT_READ | PROT_WRITE,
					 MAP_SHARED, window->fd, PAGEMILL_ZERO_WINDOW_OFFSET);

		if (at == MAP_FAILED)
			_exit(2);
		*at = 1;
		_exit(1);
	}
	waitpid(child, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		guest_fail("an entry that is not posted can be touched (%d)", status);
}

static void check_requests(const struct zero_window *window)
{
	for (unsigned int command = 0; command < 4096; command++) {
		if (command == PAGEMILL_ZERO_IOC_REAP)
			continue;
		if (ioctl(window->fd, command, (void *)-1) >= 0)
			guest_fail("ioctl %#x is accepted", command);
	}
	if (read(window->fd, (void *)window, 8) >= 0 || write(window->fd, window, 8) >= 0)
		guest_fail("the device can be read or written");
}

static void check_opening(void)
{
	struct zero_window second;
	pid_t child;
	int status;

	if (zero_window_open(&second) != EBUSY)
		guest_fail("two helpers can attach");
	/* Not only the file's mode protects it. */
	chmod(ZERO_DEVICE, 0666);
	child = fork();
	if (child == 0) {
		if (setuid(1000))
			_exit(2);
		_exit(open(ZERO_DEVICE, O_RDWR) < 0 && errno == EPERM ? 0 : 1);
	}
	waitpid(child, &status, 0);
	chmod(ZERO_DEVICE, 0600);
	if (status)
		guest_fail("any user can open the device (%d)", status);
}

static void check_attributes(void)
{
	static const char *const refused[][2] = {
		{ "mode", "fast" },	 { "mode", "" },
		{ "verify", "maybe" },	 { "deadline_us", "-1" },
		{ "deadline_us", "x" },	 { "deadline_us", "10000001" },
		{ "keep_free", "many" }, { "handoff_ticks_min", "1" },
	};
	char path[128];

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		snprintf(path, sizeof(path), ZERO_SYSFS "%s", refused[i][0]);
		if (refused[i][1][0] && !guest_write(path, refused[i][1]))
			guest_fail("%s accepts %s", refused[i][0], refused[i][1]);
	}
}

int main(void)
{
	struct zero_window window;
	int error = zero_window_open(&window);

	if (error)
		guest_fail("cannot attach: %s", strerror(error));
	check_mappings(&window);
	check_touching(&window);
	check_requests(&window);
	check_opening();
	check_attributes();
	return 0;
}
