// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include "color_space.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guest.h"

#define WORDS	   (COLOR_PAGE / sizeof(uint64_t))
#define IDLE_TRIES 200

int color_open(void)
{
	int fd = open(COLOR_DEVICE, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		guest_fail("cannot open %s: %s", COLOR_DEVICE, strerror(errno));
	return fd;
}

static void ask(int fd, unsigned long request, void *argument, const char *name)
{
	if (ioctl(fd, request, argument))
		guest_fail("%s: %s", name, strerror(errno));
}

struct pagemill_color_info color_info(int fd)
{
	struct pagemill_color_info info;

	ask(fd, PAGEMILL_COLOR_IOC_INFO, &info, "info");
	return info;
}

void color_set(int fd, struct pagemill_color_set set, uint32_t rule)
{
	struct pagemill_color_choice choice = { .set = set, .rule = rule };

	ask(fd, PAGEMILL_COLOR_IOC_SET, &choice, "set");
}

struct pagemill_color_recolor color_recolor(int fd, struct pagemill_color_set set)
{
	struct pagemill_color_recolor recolor = { .choice.set = set };

	ask(fd, PAGEMILL_COLOR_IOC_RECOLOR, &recolor, "recolor");
	return recolor;
}

void color_release(int fd, const void *at, size_t pages)
{
	struct pagemill_color_range range = {
		.address = (uintptr_t)at,
		.bytes = pages * COLOR_PAGE,
	};

	ask(fd, PAGEMILL_COLOR_IOC_RELEASE, &range, "release");
}

struct pagemill_color_report color_count_frames(int fd, uint64_t *by_color, uint32_t capacity)
{
	struct pagemill_color_report report = {
		.frames_by_color = (uintptr_t)by_color,
		.frames_capacity = capacity,
	};

	ask(fd, PAGEMILL_COLOR_IOC_REPORT, &report, "report");
	return report;
}

struct pagemill_color_report color_report(int fd)
{
	return color_count_frames(fd, NULL, 0);
}

struct pagemill_color_stock color_stock(int fd)
{
	struct pagemill_color_stock stock = { .stocked_pages = 0 };

	ask(fd, PAGEMILL_COLOR_IOC_STOCK, &stock, "stock");
	return stock;
}

void color_set_stock(int fd, uint64_t limit_pages, uint64_t keep_pages, uint64_t wanted_pages)
{
	struct pagemill_color_stock stock = {
		.limit_pages = limit_pages,
		.keep_pages = keep_pages,
		.stocked_pages = wanted_pages,
	};

	ask(fd, PAGEMILL_COLOR_IOC_SET_STOCK, &stock, "set stock");
}

unsigned char *color_map(int fd, size_t pages)
{
	unsigned char *at =
		mmap(NULL, pages * COLOR_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		guest_fail("cannot map %zu pages: %s", pages, strerror(errno));
	return at;
}

struct pagemill_color_set color_range(unsigned int first, unsigned int count)
{
	struct pagemill_color_set set = { { 0 } };

	for (unsigned int color = first; color < first + count; color++)
		set.words[color / 64] |= 1ull << color % 64;
	return set;
}

bool color_has(const struct pagemill_color_set *set, unsigned int color)
{
	return set->words[color / 64] >> color % 64 & 1;
}

/* Those beyond each color's share; odd pages are given where they are. */
uint64_t color_fewest_moves(const uint64_t *by_color, unsigned int colors,
			    const struct pagemill_color_set *set)
{
	uint64_t pages = 0, count = 0, stay = 0, share, odd;

	for (unsigned int color = 0; color < colors; color++) {
		pages += by_color[color];
		count += color_has(set, color);
	}
	share = pages / count;
	odd = pages % count;
	for (unsigned int color = 0; color < colors; color++) {
		uint64_t held = by_color[color];

		if (!color_has(set, color))
			continue;
		if (held > share && odd) {
			odd--;
			stay += share + 1;
		} else {
			stay += held < share ? held : share;
		}
	}
	return pages - stay;
}

uint64_t color_frame(const volatile void *at)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entry = 0;

	if (fd < 0 || pread(fd, &entry, sizeof(entry), (uintptr_t)at / COLOR_PAGE * 8) != 8)
		guest_fail("cannot read the page map: %s", strerror(errno));
	close(fd);
	return entry >> 63 ? entry & ((1ull << 55) - 1) : COLOR_NO_FRAME;
}

unsigned int color_of(const volatile void *at, unsigned int colors)
{
	uint64_t frame = color_frame(at);

	if (frame == COLOR_NO_FRAME)
		guest_fail("%p is not mapped", at);
	return frame % colors;
}

static uint64_t word(uint64_t key, size_t i)
{
	return (key + 1) * 0x9e3779b97f4a7c15ull ^ i;
}

void color_fill(volatile unsigned char *page, uint64_t key)
{
	volatile uint64_t *words = (volatile uint64_t *)page;

	for (size_t i = 0; i < WORDS; i++)
		words[i] = word(key, i);
}

bool color_is_filled(const volatile unsigned char *page, uint64_t key)
{
	const volatile uint64_t *words = (const volatile uint64_t *)page;

	for (size_t i = 0; i < WORDS; i++)
		if (words[i] != word(key, i))
			return false;
	return true;
}

bool color_is_zero(const volatile unsigned char *page)
{
	const volatile uint64_t *words = (const volatile uint64_t *)page;

	for (size_t i = 0; i < WORDS; i++)
		if (words[i])
			return false;
	return true;
}

/* A process that was killed may still be on its way out. */
void color_expect_idle(void)
{
	int fd = color_open();
	struct pagemill_color_stock stock;

	for (int tries = 0; tries < IDLE_TRIES; tries++) {
		stock = color_stock(fd);
		if (!stock.used_pages && stock.spaces == 1) {
			close(fd);
			return;
		}
		usleep(50000);
	}
	guest_fail("%" PRIu64 " frames are in use, %" PRIu64
		   " spaces are open; there should be none",
		   (uint64_t)stock.used_pages, (uint64_t)stock.spaces - 1);
}
