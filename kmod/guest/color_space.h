/* SPDX-License-Identifier: GPL-2.0 */
/* The user's side of pagemill_color, and where pages really are. */
#ifndef PAGEMILL_COLOR_SPACE_H
#define PAGEMILL_COLOR_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pagemill_color.h"

#define COLOR_DEVICE   "/dev/" PAGEMILL_COLOR_DEVICE
#define COLOR_SYSFS    "/sys/class/misc/" PAGEMILL_COLOR_DEVICE "/"
#define COLOR_PAGE     4096
#define COLOR_NO_FRAME (~0ull)

/* Each ends the program if the module refuses. */
int color_open(void);
struct pagemill_color_info color_info(int fd);
void color_set(int fd, struct pagemill_color_set set, uint32_t rule);
struct pagemill_color_recolor color_recolor(int fd, struct pagemill_color_set set);
void color_release(int fd, const void *at, size_t pages);
struct pagemill_color_report color_report(int fd);
/* The same, and the frames of each of the first `capacity` colors. */
struct pagemill_color_report color_count_frames(int fd, uint64_t *by_color, uint32_t capacity);
struct pagemill_color_stock color_stock(int fd);
void color_set_stock(int fd, uint64_t limit_pages, uint64_t keep_pages, uint64_t wanted_pages);
unsigned char *color_map(int fd, size_t pages);

/* `count` colors from `first` on. */
struct pagemill_color_set color_range(unsigned int first, unsigned int count);
bool color_has(const struct pagemill_color_set *set, unsigned int color);
/* The fewest pages that move until frames are spread over the set as evenly as can be. */
uint64_t color_fewest_moves(const uint64_t *by_color, unsigned int colors,
			    const struct pagemill_color_set *set);

/* The frame of a page of this process, or COLOR_NO_FRAME if no page table leads to one. */
uint64_t color_frame(const volatile void *at);
/* Its color, which the frame must have been mapped for. */
unsigned int color_of(const volatile void *at, unsigned int colors);

/* Fills a page with what only this page holds; whether it still does. */
void color_fill(volatile unsigned char *page, uint64_t key);
bool color_is_filled(const volatile unsigned char *page, uint64_t key);
bool color_is_zero(const volatile unsigned char *page);

/* No frame is in use, and no space is open. */
void color_expect_idle(void);

#endif
