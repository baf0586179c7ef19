/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * What the module pagemill_zero and its helper share.
 *
 * The helper opens /dev/pagemill_zero, maps the ring at offset 0 and the
 * window at PAGEMILL_ZERO_WINDOW_OFFSET, and cleans the pieces that the ring
 * posts. Entry i of the ring is about bytes [i, i + 1) * PIECE_BYTES of the
 * window. They can be touched only while the entry is posted; at any other
 * time a touch raises SIGBUS.
 */
#ifndef _UAPI_PAGEMILL_ZERO_H
#define _UAPI_PAGEMILL_ZERO_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define PAGEMILL_ZERO_DEVICE	    "pagemill_zero"
#define PAGEMILL_ZERO_MAGIC	    0x30654c4d50ULL
#define PAGEMILL_ZERO_VERSION	    1

/* A 2 MiB page is one piece, a 1 GiB page is 512. */
#define PAGEMILL_ZERO_PIECE_BYTES   (2ULL << 20)
#define PAGEMILL_ZERO_ENTRIES	    64

#define PAGEMILL_ZERO_RING_BYTES    4096ULL
#define PAGEMILL_ZERO_WINDOW_OFFSET PAGEMILL_ZERO_PIECE_BYTES
#define PAGEMILL_ZERO_WINDOW_BYTES  (PAGEMILL_ZERO_ENTRIES * PAGEMILL_ZERO_PIECE_BYTES)

/* No process waits for this piece: call PAGEMILL_ZERO_IOC_REAP when it is done. */
#define PAGEMILL_ZERO_NEEDS_REAP    1U

/*
 * One piece. Sequence numbers start at 1; number s is only ever at entry
 * s % ENTRIES.
 */
struct pagemill_zero_entry {
	__u64 posted; /* kernel: the number to clean, 0 once taken back */
	__u64 done;   /* helper: the number that was cleaned last */
	__u32 flags;  /* kernel */
	__u32 reserved;
};

struct pagemill_zero_ring {
	__u64 magic;
	__u32 version;
	__u32 entries;
	__u64 head;	/* kernel: the number that comes next */
	__u32 sleeping; /* helper: 1 when it may be asleep in poll(2) */
	__u32 reserved[9];
	struct pagemill_zero_entry entry[PAGEMILL_ZERO_ENTRIES];
};

/*
 * Takes back what is done, posts what is dirty. Also reports to the module that
 * the helper is alive after it missed deadlines. Returns how many pieces were
 * taken back.
 */
#define PAGEMILL_ZERO_IOC_REAP _IO('Z', 0x50)

#endif
