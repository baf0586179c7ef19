// SPDX-License-Identifier: GPL-2.0
/*
 * Runs a program, stops it again and again, and looks from outside where the
 * pages of its heap are: all of them have to be in the given colors.
 *
 *   color_watch NAME FIRST COUNT PROGRAM [ARGUMENT..]
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "color_space.h"
#include "color_view.h"
#include "guest.h"

#define BETWEEN_LOOKS_US 100000

static unsigned int module_colors(void)
{
	int fd = color_open();
	unsigned int colors = color_info(fd).colors;

	close(fd);
	return colors;
}

static void check_end(int status)
{
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		guest_fail("the program ended with status %#x", status);
}

/* Stops the program. False if it has ended, as it should. */
static bool stop(pid_t process)
{
	int status;

	kill(process, SIGSTOP);
	if (waitpid(process, &status, WUNTRACED) != process)
		guest_fail("cannot wait for the program: %s", strerror(errno));
	if (WIFSTOPPED(status))
		return true;
	check_end(status);
	return false;
}

struct watched {
	uint64_t looks;
	uint64_t most_pages;
};

static void look(pid_t process, unsigned int colors, const struct pagemill_color_set *set,
		 struct watched *watched)
{
	struct color_view view;

	/* Before it is preloaded the process is another program, with a heap of its own. */
	if (!color_look_at(process, colors, set, &view) || !view.colored_pages)
		return;
	if (view.outside_pages || view.plain_pages)
		guest_fail("%d of %d pages are outside the colors, %d are plain memory",
			   (int)view.outside_pages, (int)view.colored_pages, (int)view.plain_pages);
	watched->looks++;
	if (view.colored_pages > watched->most_pages)
		watched->most_pages = view.colored_pages;
}

static void tell(const char *name, const char *what, uint64_t number, const char *unit)
{
	char full[80];

	snprintf(full, sizeof(full), "%s.%s", name, what);
	guest_value(full, number, unit);
}

int main(int argc, char **argv)
{
	struct watched watched = { 0 };
	struct pagemill_color_set set;
	unsigned int colors;
	pid_t process;

	if (argc < 5)
		guest_fail("usage: color_watch NAME FIRST COUNT PROGRAM [ARGUMENT..]");
	set = color_range(atoi(argv[2]), atoi(argv[3]));
	colors = module_colors();
	process = fork();
	if (!process) {
		execvp(argv[4], argv + 4);
		guest_fail("cannot start %s: %s", argv[4], strerror(errno));
	}
	while (stop(process)) {
		look(process, colors, &set, &watched);
		kill(process, SIGCONT);
		usleep(BETWEEN_LOOKS_US);
	}
	if (!watched.looks)
		guest_fail("the program had no colored page whenever it was looked at");
	tell(argv[1], "looks", watched.looks, "times");
	tell(argv[1], "pages", watched.most_pages, "pages");
	tell(argv[1], "pages_outside", 0, "pages");
	return 0;
}
