/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * How software in an emulated machine talks to the plugin that watches its
 * memory (kmod/plugin_cache): by loads whose instruction has a displacement
 * that no other code has. On other machines they are loads, and do nothing.
 *
 * The plugin sees the address, so that is the argument: a byte of the text
 * `c` is a load from byte c of any 256 bytes, a frame is a load from it.
 */
#ifndef _UAPI_PAGEMILL_OBSERVE_H
#define _UAPI_PAGEMILL_OBSERVE_H

/* Displacements: bits 7-0 say what is reported. */
#define PAGEMILL_OBSERVE_MAGIC	   0x504d4c00
#define PAGEMILL_OBSERVE_MASK	   0xffffff00

#define PAGEMILL_OBSERVE_TASK_LOW  1 /* bits 7-0 of a task: address - table */
#define PAGEMILL_OBSERVE_TASK_HIGH 2 /* bits 15-8 of it */
#define PAGEMILL_OBSERVE_OWN   3 /* the frame loaded from belongs to that task; to no task if 0 */
#define PAGEMILL_OBSERVE_CHAR  4 /* a character of a name */
#define PAGEMILL_OBSERVE_BEGIN 5 /* counters are 0, caches are empty */
#define PAGEMILL_OBSERVE_END   6 /* counters are reported below the name; the name is empty */

/* Page-aligned, so that the low bits of an address tell the argument. */
#define PAGEMILL_OBSERVE_TABLE_BYTES 4096

#ifdef __x86_64__
/* One instruction: movzbl displacement(%rax), %eax. */
#define PAGEMILL_OBSERVE_IS_SEEN 1
#define PAGEMILL_OBSERVE(what, address)                                                            \
	do {                                                                                       \
		unsigned long pagemill_at =                                                        \
			(unsigned long)(address) - (PAGEMILL_OBSERVE_MAGIC | (what));              \
		__asm__ volatile("movzbl %c1(%0), %%eax"                                           \
				 : "+a"(pagemill_at)                                               \
				 : "i"(PAGEMILL_OBSERVE_MAGIC | (what))                            \
				 : "memory");                                                      \
	} while (0)
#else
/* Loads of arm64 have no room for such a displacement, and the plugin reads x86-64 only. */
#define PAGEMILL_OBSERVE_IS_SEEN	0
#define PAGEMILL_OBSERVE(what, address) ((void)(what), (void)(address))
#endif

#endif
