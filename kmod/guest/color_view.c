// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include "color_view.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "color_space.h"
#include "guest.h"

#define PRESENT	    (1ull << 63)
#define FRAME_MASK  ((1ull << 55) - 1)
#define DESCRIPTORS 1024
#define ENTRIES	    4096

struct mapping {
	uint64_t start;
	uint64_t end;
	bool is_colored;
	bool is_plain_heap;
};

static FILE *open_maps(pid_t process)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", process);
	return fopen(path, "re");
}

static bool next_mapping(FILE *maps, struct mapping *mapping)
{
	char line[512];

	if (!fgets(line, sizeof(line), maps))
		return false;
	if (sscanf(line, "%" SCNx64 "-%" SCNx64, &mapping->start, &mapping->end) != 2)
		guest_fail("a mapping that makes no sense: %s", line);
	mapping->is_colored = strstr(line, COLOR_DEVICE);
	mapping->is_plain_heap = strstr(line, "[heap]");
	return true;
}

/* Entries of a mapping, as many at once as fit; how many. An allocator reserves far more than it uses. */
static size_t read_entries(int pagemap, uint64_t from, uint64_t end, uint64_t entries[ENTRIES])
{
	uint64_t pages = (end - from) / COLOR_PAGE;
	size_t wanted = (pages < ENTRIES ? pages : ENTRIES) * sizeof(*entries);
	ssize_t got = pread(pagemap, entries, wanted, from / COLOR_PAGE * sizeof(*entries));

	if (got <= 0)
		guest_fail("cannot read a page map: %s", strerror(errno));
	return got / sizeof(*entries);
}

static void add_page(struct color_view *view, const struct mapping *mapping, uint64_t entry,
		     unsigned int colors, const struct pagemill_color_set *set)
{
	if (!(entry & PRESENT))
		return;
	if (mapping->is_plain_heap) {
		view->plain_pages++;
		return;
	}
	view->colored_pages++;
	view->outside_pages += !color_has(set, (entry & FRAME_MASK) % colors);
}

static void add_mapping(struct color_view *view, const struct mapping *mapping, int pagemap,
			unsigned int colors, const struct pagemill_color_set *set)
{
	uint64_t entries[ENTRIES];
	size_t count;

	for (uint64_t at = mapping->start; at < mapping->end; at += count * COLOR_PAGE) {
		count = read_entries(pagemap, at, mapping->end, entries);
		for (size_t i = 0; i < count; i++)
			add_page(view, mapping, entries[i], colors, set);
	}
}

bool color_look_at(pid_t process, unsigned int colors, const struct pagemill_color_set *set,
		   struct color_view *view)
{
	FILE *maps = open_maps(process);
	struct mapping mapping;
	char path[64];
	int pagemap;

	memset(view, 0, sizeof(*view));
	if (!maps)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/pagemap", process);
	pagemap = open(path, O_RDONLY | O_CLOEXEC);
	if (pagemap < 0)
		guest_fail("cannot open %s: %s", path, strerror(errno));
	while (next_mapping(maps, &mapping))
		if (mapping.is_colored || mapping.is_plain_heap)
			add_mapping(view, &mapping, pagemap, colors, set);
	fclose(maps);
	close(pagemap);
	return true;
}

bool color_is_colored(const void *at, size_t bytes)
{
	uint64_t first = (uintptr_t)at;
	FILE *maps = open_maps(getpid());
	struct mapping mapping;
	bool found = false;

	if (!maps)
		guest_fail("cannot read the own mappings: %s", strerror(errno));
	while (!found && next_mapping(maps, &mapping))
		found = mapping.is_colored && mapping.start <= first &&
			first + bytes <= mapping.end;
	fclose(maps);
	return found;
}

int color_own_space(void)
{
	char path[32], target[64];

	for (int fd = 0; fd < DESCRIPTORS; fd++) {
		ssize_t length;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		length = readlink(path, target, sizeof(target) - 1);
		if (length < 0)
			continue;
		target[length] = '\0';
		if (!strcmp(target, COLOR_DEVICE))
			return fd;
	}
	return -1;
}
