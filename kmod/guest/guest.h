/* SPDX-License-Identifier: GPL-2.0 */
/* What guest programs share: failing, numbers in sysfs, huge pages, time. */
#ifndef PAGEMILL_GUEST_H
#define PAGEMILL_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GUEST_SKIPPED 77

/* Ends the program: the last line says why, the exit code is 1. */
__attribute__((noreturn, format(printf, 1, 2))) void guest_fail(const char *format, ...);

/* A measured number, for the host's table. */
void guest_value(const char *name, uint64_t number, const char *unit);

/* A file of one line. Writing returns 0 or the error number. */
uint64_t guest_read_number(const char *path);
int guest_write(const char *path, const char *text);

/* `count` private huge pages of `page_bytes`, not touched. */
char *guest_map_pages(size_t count, size_t page_bytes);
void guest_unmap_pages(char *pages, size_t count, size_t page_bytes);

/* The time stamp counter; on x86-64, with -icount shift=0, that is instructions. */
static inline uint64_t guest_ticks(void)
{
#ifdef __aarch64__
	uint64_t ticks;

	__asm__ volatile("isb; mrs %0, cntvct_el0; isb" : "=r"(ticks) : : "memory");
	return ticks;
#else
	uint32_t low, high;

	__asm__ volatile("lfence; rdtsc; lfence" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
#endif
}

/* In a loop that waits for another CPU. */
static inline void guest_pause(void)
{
#ifdef __aarch64__
	__asm__ volatile("yield" : : : "memory");
#else
	__builtin_ia32_pause();
#endif
}

/* The same numbers in every run (splitmix64). */
static inline uint64_t guest_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

#endif
