/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * What the module pagemill_color and its users share.
 *
 * The color of a page is its frame number modulo `colors`. An open file of
 * /dev/pagemill_color is a *space*: a set of colors, and memory in pages of
 * these colors. Each process that holds the file (also by fork, or sent over a socket)
 * can change its colors; no other process can.
 *
 *   fd = open("/dev/pagemill_color", O_RDWR | O_CLOEXEC);
 *   ioctl(fd, PAGEMILL_COLOR_IOC_SET, &choice);
 *   at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
 *
 * MAP_SHARED and offset 0 are required. The memory is private all the same:
 * every mapping has pages of its own, which are zero when they are first
 * touched, and a child of fork(2) gets a copy, page by page, when one of the
 * two writes. A frame is dealt at the first touch: evenly, and never the same
 * color twice in a row. Pages stay where they are; nothing swaps them out.
 *
 * A mapping can be unmapped and protected in parts. It can neither grow nor
 * move: mremap(2) fails with EFAULT or EINVAL. munmap(2) gives the frames
 * back. madvise(MADV_DONTNEED) frees nothing and loses nothing; use
 * PAGEMILL_COLOR_IOC_RELEASE instead.
 *
 * A touch for which there is no frame raises SIGBUS.
 *
 * Every call returns 0, or -1 and errno: EINVAL where a field is not as said
 * below or a reserved one is not 0, EFAULT where memory cannot be read or
 * written, ENOTTY for unknown requests, EINTR where a fatal signal came first.
 */
#ifndef _UAPI_PAGEMILL_COLOR_H
#define _UAPI_PAGEMILL_COLOR_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define PAGEMILL_COLOR_DEVICE	  "pagemill_color"
#define PAGEMILL_COLOR_VERSION	  1

#define PAGEMILL_COLOR_COLORS_MAX 1024
#define PAGEMILL_COLOR_SET_WORDS  (PAGEMILL_COLOR_COLORS_MAX / 64)

/* What the colors come from: parameters of the module. */
struct pagemill_color_info {
	__u32 version; /* PAGEMILL_COLOR_VERSION */
	__u32 colors;  /* a power of two, from 2 to COLORS_MAX */
	__u64 cache_bytes;
	__u32 ways;
	__u32 line_bytes;
	__u32 page_bytes;
	__u32 space; /* the number of this space: from 1, never used twice */
	__u64 reserved[2];
};

/* Color c is in the set if bit c % 64 of word c / 64 is 1. */
struct pagemill_color_set {
	__u64 words[PAGEMILL_COLOR_SET_WORDS];
};

/*
 * What happens when the color whose turn it is has no frame left, and no large
 * block of memory that holds every color can be had.
 */
enum pagemill_color_rule {
	/* another color of the set; then any frame, and it is counted as stray */
	PAGEMILL_COLOR_RULE_ANY = 0,
	/* another color of the set; then SIGBUS */
	PAGEMILL_COLOR_RULE_SET = 1,
	/* SIGBUS */
	PAGEMILL_COLOR_RULE_FAIL = 2,
};

/*
 * The colors of a space. A new space has all of them, and RULE_ANY. A set may
 * not be empty, nor hold a color that there is not.
 */
struct pagemill_color_choice {
	struct pagemill_color_set set;
	__u32 rule;	/* enum pagemill_color_rule */
	__u32 reserved; /* 0 */
};

struct pagemill_color_recolor {
	struct pagemill_color_choice choice;
	__u64 pages;   /* out: pages that the space has */
	__u64 planned; /* out: those to be copied when touched again */
};

/* Pages of the caller's memory, all of them mapped from the space. */
struct pagemill_color_range {
	__u64 address; /* on a page boundary */
	__u64 bytes;   /* whole pages, more than 0 */
};

/* Pages count once, even if shared after fork(2). Events count since the space was opened. */
struct pagemill_color_report {
	struct pagemill_color_choice choice; /* out: as it is now */
	__u64 pages;			     /* out: pages with a frame */
	__u64 in_set;			     /* out: of these, in a color of the set */
	__u64 pending;			     /* out: to be copied when touched again */
	__u64 dealt;			     /* out: first touches */
	__u64 copied;			     /* out: copied by a touch after a change of colors */
	__u64 cow_copied;		     /* out: copied by a write after fork(2) */
	__u64 pinned; /* out: not copied: another user held the frame (direct I/O), or there was no other */
	__u64 strays;	    /* out: frames of another color than asked (RULE_ANY) */
	__u64 other_colors; /* out: frames of another color of the set */
	__u64 failures;	    /* out: touches without a frame */
	__u64 recolors;	    /* out: changes of colors that planned a copy */
	__u64 flushes;	    /* out: passes over page tables, each with one flush */
	/*
	 * in: where to write a __u64 for each color: pages with a frame of that
	 * color. 0: nowhere.
	 */
	__u64 frames_by_color;
	__u32 frames_capacity; /* in: how many fit; if there are more colors, the first ones are listed */
	__u32 reserved;	       /* 0 */
};

/* The module's memory, of all spaces. */
struct pagemill_color_stock {
	__u64 stocked_pages;	/* out: free, with the module */
	__u64 used_pages;	/* out: with spaces */
	__u64 limit_pages;	/* both together are never more */
	__u64 keep_pages;	/* freed pages beyond so many in stock go to the kernel */
	__u64 taken_blocks;	/* out: large blocks got from the kernel */
	__u64 refused_blocks;	/* out: refused by it, or by the limit */
	__u64 shrunk_pages;	/* out: given back as memory was short */
	__u64 spaces;		/* out: open */
	__u64 stocked_by_color; /* in: as frames_by_color */
	__u32 stocked_capacity; /* in */
	__u32 reserved;		/* 0 */
};

/* Reads what the colors come from. */
#define PAGEMILL_COLOR_IOC_INFO	     _IOR('Z', 0x60, struct pagemill_color_info)
/* For pages that are dealt from now on; those dealt stay. */
#define PAGEMILL_COLOR_IOC_SET	     _IOW('Z', 0x61, struct pagemill_color_choice)
/*
 * For all pages: the even map with the fewest moves. Pages that are to move
 * are unmapped, with one flush, and copied when they are touched again.
 */
#define PAGEMILL_COLOR_IOC_RECOLOR   _IOWR('Z', 0x62, struct pagemill_color_recolor)
/* Gives the frames of these pages back; a later touch finds zeroes. EINVAL if not all of it is mapped. */
#define PAGEMILL_COLOR_IOC_RELEASE   _IOW('Z', 0x63, struct pagemill_color_range)
#define PAGEMILL_COLOR_IOC_REPORT    _IOWR('Z', 0x64, struct pagemill_color_report)
#define PAGEMILL_COLOR_IOC_STOCK     _IOWR('Z', 0x65, struct pagemill_color_stock)
/*
 * With CAP_SYS_ADMIN (else EPERM): sets limit_pages and keep_pages, then takes
 * blocks until `stocked_pages` are in stock (ENOMEM if that fails); then as
 * PAGEMILL_COLOR_IOC_STOCK. A limit below what is in use holds for new pages.
 */
#define PAGEMILL_COLOR_IOC_SET_STOCK _IOWR('Z', 0x66, struct pagemill_color_stock)

#endif
