// SPDX-License-Identifier: GPL-2.0
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void guest_fail(const char *format, ...)
{
	va_list arguments;

	fflush(stdout);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(1);
}

void guest_value(const char *name, uint64_t number, const char *unit)
{
	printf("value %s %" PRIu64 " %s\n", name, number, unit);
	fflush(stdout);
}

uint64_t guest_read_number(const char *path)
{
	char text[32] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		guest_fail("cannot read %s: %s", path, strerror(errno));
	close(fd);
	return strtoull(text, NULL, 0);
}

int guest_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int error = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) < 0)
		error = errno;
	close(fd);
	return error;
}

char *guest_map_pages(size_t count, size_t page_bytes)
{
	int size_flag = (__builtin_ctzll(page_bytes) << MAP_HUGE_SHIFT);
	char *pages = mmap(NULL, count * page_bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | size_flag, -1, 0);

	if (pages == MAP_FAILED)
		guest_fail("cannot map %zu huge pages of %zu bytes: %s", count, page_bytes,
			   strerror(errno));
	/* A helper that is forked meanwhile would keep them. */
	madvise(pages, count * page_bytes, MADV_DONTFORK);
	return pages;
}

void guest_unmap_pages(char *pages, size_t count, size_t page_bytes)
{
	if (munmap(pages, count * page_bytes))
		guest_fail("cannot unmap: %s", strerror(errno));
}
