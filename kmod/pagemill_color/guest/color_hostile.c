// SPDX-License-Identifier: GPL-2.0
/*
 * Whatever several unprivileged processes can ask of the module, in any order,
 * while they compare every byte of their memory with what it should be.
 *
 *   color_hostile SECONDS PROCESSES
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "color_space.h"
#include "guest.h"

#define SPACES	      3
#define MAPS	      4
#define PAGES_MOST    48
#define OPS_EACH      400
#define USER	      1000

/* Between these lies all that a statically linked program may write. */
#define PROGRAM_START 0x400000ull
#define USER_END      (1ull << 48)

struct map {
	unsigned char *at;
	size_t pages;
	int space;
	bool mapped[PAGES_MOST];
	uint64_t key[PAGES_MOST]; /* what the page holds; 0: zeroes */
};

static int spaces[SPACES];
static struct map maps[MAPS];
static uint64_t state;
static uint64_t done_ops;
static sigjmp_buf back;
static volatile sig_atomic_t touching;

static uint64_t below(uint64_t limit)
{
	return guest_random(&state) % limit;
}

static void on_bus_error(int number)
{
	(void)number;
	if (!touching)
		_exit(9);
	siglongjmp(back, 1);
}

static unsigned char *page_of(struct map *map, size_t page)
{
	return map->at + page * COLOR_PAGE;
}

/* A page without a frame may have none for the asking: no memory, or a hostile rule. */
static void write_page(struct map *map, size_t page)
{
	uint64_t key = guest_random(&state) | 1;

	touching = 1;
	if (!sigsetjmp(back, 1)) {
		color_fill(page_of(map, page), key);
		map->key[page] = key;
	}
	touching = 0;
}

static void check_page(struct map *map, size_t page)
{
	volatile bool right = true;

	touching = 1;
	if (!sigsetjmp(back, 1))
		right = map->key[page] ? color_is_filled(page_of(map, page), map->key[page]) :
					 color_is_zero(page_of(map, page));
	touching = 0;
	if (!right)
		guest_fail("page %d of map %d has wrong bytes", (int)page, (int)(map - maps));
}

static void check_all(void)
{
	for (size_t i = 0; i < MAPS; i++)
		for (size_t page = 0; page < maps[i].pages; page++)
			if (maps[i].mapped[page])
				check_page(&maps[i], page);
}

static struct map *any_map(void)
{
	struct map *map = &maps[below(MAPS)];

	return map->at ? map : NULL;
}

/* Not the holes: others may have been put there. */
static void unmap_all(struct map *map)
{
	for (size_t page = 0; page < map->pages; page++)
		if (map->mapped[page] && munmap(page_of(map, page), COLOR_PAGE))
			guest_fail("munmap fails");
	memset(map, 0, sizeof(*map));
}

static void new_map(void)
{
	struct map *map = &maps[below(MAPS)];

	unmap_all(map);
	map->space = below(SPACES);
	map->pages = 1 + below(PAGES_MOST);
	map->at = mmap(NULL, map->pages * COLOR_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
		       spaces[map->space], 0);
	if (map->at == MAP_FAILED)
		memset(map, 0, sizeof(*map));
	else
		memset(map->mapped, 1, sizeof(map->mapped));
}

/* The pages of one map from a random one on, as long as they are mapped. */
static size_t random_run(struct map *map, size_t *first)
{
	size_t count = 0, most;

	*first = below(map->pages);
	most = 1 + below(map->pages - *first);
	while (count < most && map->mapped[*first + count])
		count++;
	return count;
}

static void unmap_part(void)
{
	struct map *map = any_map();
	size_t first, count = map ? random_run(map, &first) : 0;

	if (!count)
		return;
	if (munmap(page_of(map, first), count * COLOR_PAGE))
		guest_fail("munmap of a part fails");
	memset(map->mapped + first, 0, count);
}

static void write_some(void)
{
	struct map *map = any_map();
	size_t first, count = map ? random_run(map, &first) : 0;

	for (size_t i = 0; i < count; i++)
		write_page(map, first + i);
}

static void check_some(void)
{
	struct map *map = any_map();
	size_t first, count = map ? random_run(map, &first) : 0;

	for (size_t i = 0; i < count; i++)
		check_page(map, first + i);
}

static void release_some(void)
{
	struct map *map = any_map();
	size_t first, count = map ? random_run(map, &first) : 0;
	struct pagemill_color_range range;

	if (!count)
		return;
	range.address = (uintptr_t)page_of(map, first);
	range.bytes = count * COLOR_PAGE;
	if (ioctl(spaces[map->space], PAGEMILL_COLOR_IOC_RELEASE, &range))
		guest_fail("release fails: %s", strerror(errno));
	memset(map->key + first, 0, count * sizeof(map->key[0]));
}

static void protect_some(void)
{
	struct map *map = any_map();
	size_t first, count = map ? random_run(map, &first) : 0;

	if (!count)
		return;
	mprotect(page_of(map, first), count * COLOR_PAGE, below(2) ? PROT_NONE : PROT_READ);
	mprotect(page_of(map, first), count * COLOR_PAGE, PROT_READ | PROT_WRITE);
}

static void advise_some(void)
{
	static const int advice[] = {
		MADV_NORMAL,
		MADV_RANDOM,
		MADV_SEQUENTIAL,
		MADV_WILLNEED,
		MADV_DONTNEED,
		MADV_FREE,
		MADV_REMOVE,
		MADV_MERGEABLE,
		MADV_HUGEPAGE,
		MADV_DONTDUMP,
		MADV_COLD,
		MADV_PAGEOUT,
		MADV_WIPEONFORK,
		22 /* MADV_POPULATE_READ */,
		23 /* MADV_POPULATE_WRITE */,
	};
	struct map *map = any_map();
	size_t first, count = map ? random_run(map, &first) : 0;

	if (count)
		madvise(page_of(map, first), count * COLOR_PAGE,
			advice[below(sizeof(advice) / sizeof(advice[0]))]);
}

static void move_some(void)
{
	struct map *map = any_map();
	size_t first, count = map ? random_run(map, &first) : 0;
	void *moved;

	if (!count)
		return;
	moved = mremap(page_of(map, first), below(2) ? count * COLOR_PAGE : 0,
		       (1 + below(100)) * COLOR_PAGE, MREMAP_MAYMOVE);
	if (moved == MAP_FAILED)
		return;
	/* It can only have shrunk, in place. */
	if (moved != page_of(map, first))
		guest_fail("mremap moves a mapping");
	for (size_t i = 0; i < count; i++) {
		unsigned char there;

		if (mincore(page_of(map, first + i), COLOR_PAGE, &there))
			map->mapped[first + i] = false;
	}
}

static struct pagemill_color_set random_set(void)
{
	struct pagemill_color_set set = { { 0 } };

	if (below(4))
		return color_range(below(32), 1 + below(32));
	set.words[0] = guest_random(&state);
	set.words[below(PAGEMILL_COLOR_SET_WORDS)] ^= below(64) ? 0 : guest_random(&state);
	return set;
}

static void choose_colors(void)
{
	struct pagemill_color_recolor recolor = {
		.choice = { .set = random_set(), .rule = below(4) },
	};
	int fd = spaces[below(SPACES)];

	if (below(3))
		ioctl(fd, PAGEMILL_COLOR_IOC_RECOLOR, &recolor);
	else
		ioctl(fd, PAGEMILL_COLOR_IOC_SET, &recolor.choice);
}

/*
 * Any number, but no address of this program's own memory: the module does what it
 * is asked, and a report written over the C library's data ends the test instead
 * of the module.
 */
static uint64_t rubbish_number(void)
{
	static unsigned char target[COLOR_PAGE + sizeof(uint64_t[PAGEMILL_COLOR_COLORS_MAX])];
	uint64_t number = guest_random(&state) >> below(64);

	if (number >= PROGRAM_START && number < USER_END)
		return (uintptr_t)target + number % COLOR_PAGE;
	return number;
}

/* Requests that may not exist, with rubbish for an argument. */
static void ask_rubbish(void)
{
	static union {
		uint64_t words[64];
		char bytes[512];
	} rubbish;
	unsigned int number = 0x5e + below(0x0c);
	unsigned long request = _IOC(below(4), 'Z', number, below(600));
	uintptr_t argument = (uintptr_t)&rubbish;

	if (below(2))
		request = _IOC(_IOC_READ | _IOC_WRITE, 'Z', 0x64,
			       sizeof(struct pagemill_color_report));
	if (below(2))
		request = _IOC(_IOC_READ | _IOC_WRITE, 'Z', 0x65,
			       sizeof(struct pagemill_color_stock));
	for (size_t i = 0; i < 64; i++)
		rubbish.words[i] = below(2) ? 0 : rubbish_number();
	if (below(4) == 0)
		argument = rubbish_number();
	ioctl(spaces[below(SPACES)], request, argument);
}

static void ask_properly(void)
{
	int fd = spaces[below(SPACES)];
	uint64_t numbers[PAGEMILL_COLOR_COLORS_MAX];
	struct pagemill_color_report report = {
		.frames_by_color = (uintptr_t)numbers,
		.frames_capacity = below(2000),
	};

	ioctl(fd, PAGEMILL_COLOR_IOC_REPORT, &report);
	color_info(fd);
	color_stock(fd);
	if (read(fd, numbers, 8) >= 0 || write(fd, numbers, 8) >= 0)
		guest_fail("the device can be read or written");
}

static void reopen(void)
{
	int space = below(SPACES);

	/* Its maps live on, and can no longer be asked for. */
	for (size_t i = 0; i < MAPS; i++)
		if (maps[i].space == space)
			unmap_all(&maps[i]);
	close(spaces[space]);
	spaces[space] = color_open();
}

/* Another process reads and writes memory of this one, through the kernel. */
static void copy_through_kernel(void)
{
	static unsigned char buffer[COLOR_PAGE];
	struct map *map = any_map();
	size_t first, count = map ? random_run(map, &first) : 0;
	struct iovec here = { buffer, COLOR_PAGE }, there;
	uint64_t key = guest_random(&state) | 1;

	if (!count)
		return;
	there.iov_base = page_of(map, first);
	there.iov_len = COLOR_PAGE;
	color_fill(buffer, key);
	if (process_vm_writev(getpid(), &here, 1, &there, 1, 0) == COLOR_PAGE)
		map->key[first] = key;
	check_page(map, first);
}

/* The child has everything, keeps changing it, and no other process sees that. */
static void fork_child(unsigned int depth);

static void one_op(unsigned int depth)
{
	switch (below(16)) {
	case 0:
		new_map();
		break;
	case 1:
		unmap_part();
		break;
	case 2:
		release_some();
		break;
	case 3:
		protect_some();
		break;
	case 4:
		advise_some();
		break;
	case 5:
		move_some();
		break;
	case 6:
	case 7:
		choose_colors();
		break;
	case 8:
		ask_rubbish();
		break;
	case 9:
		ask_properly();
		break;
	case 10:
		if (!below(8))
			reopen();
		break;
	case 11:
		copy_through_kernel();
		break;
	case 12:
		if (!below(8) && depth < 2)
			fork_child(depth + 1);
		break;
	case 13:
		check_some();
		break;
	default:
		write_some();
		break;
	}
	done_ops++;
}

static void fork_child(unsigned int depth)
{
	bool kills = !below(3);
	int status;
	pid_t child = fork();

	if (child < 0)
		return;
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		state ^= 0x1234567;
		check_all();
		for (int i = 0; i < 20; i++)
			one_op(depth);
		check_all();
		_exit(0);
	}
	for (int i = 0; i < 20; i++)
		one_op(depth);
	if (kills)
		kill(child, SIGKILL);
	waitpid(child, &status, 0);
	if (!(WIFEXITED(status) && !WEXITSTATUS(status)) &&
	    !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
		guest_fail("a child ended with status %#x", status);
}

__attribute__((noreturn)) static void be_hostile(uint64_t seed, time_t until)
{
	struct sigaction action = { .sa_handler = on_bus_error };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (setgid(USER) || setuid(USER))
		_exit(8);
	sigaction(SIGBUS, &action, NULL);
	state = seed;
	for (size_t i = 0; i < SPACES; i++)
		spaces[i] = color_open();
	while (time(NULL) < until) {
		for (int i = 0; i < OPS_EACH; i++)
			one_op(0);
		check_all();
	}
	guest_value("operations", done_ops, "operations");
	_exit(0);
}

static pid_t start(uint64_t seed, time_t until)
{
	pid_t child;

	fflush(NULL);
	child = fork();
	if (child < 0)
		guest_fail("no process: %s", strerror(errno));
	if (!child)
		be_hostile(seed, until);
	return child;
}

int main(int argc, char **argv)
{
	time_t until;
	unsigned int processes, killed = 0;
	pid_t children[16];

	if (argc != 3)
		guest_fail("usage: color_hostile SECONDS PROCESSES");
	until = time(NULL) + strtoul(argv[1], NULL, 0);
	processes = strtoul(argv[2], NULL, 0);
	if (processes > 16)
		guest_fail("16 processes are the most");
	if (chmod(COLOR_DEVICE, 0666))
		guest_fail("cannot change the device's mode: %s", strerror(errno));
	for (unsigned int i = 0; i < processes; i++)
		children[i] = start(i + 1, until);
	/* The first is killed now and then, and replaced. */
	while (time(NULL) + 2 < until) {
		usleep(300000);
		kill(children[0], SIGKILL);
		waitpid(children[0], NULL, 0);
		children[0] = start(1000 + ++killed, until);
	}
	for (unsigned int i = 0; i < processes; i++) {
		int status;

		waitpid(children[i], &status, 0);
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			guest_fail("process %u ended with status %#x", i, status);
	}
	chmod(COLOR_DEVICE, 0600);
	guest_value("processes_killed", killed, "processes");
	color_expect_idle();
	return 0;
}
