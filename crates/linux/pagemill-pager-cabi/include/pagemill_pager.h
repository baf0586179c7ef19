/* Memory with fewer frames than bytes: the rest is compressed, in a folder, or on a page server. Link with -lpagemill_pager_c.
 *
 * Threads of the library answer the page faults, unless it is opened in thread. All calls may be made by any thread. A child of fork() has no paged memory:
 * it ends at a touch. Linux 6.8 and the right to answer page faults are needed; `pagemill doctor` says whether they are there.
 */
#ifndef PAGEMILL_PAGER_H
#define PAGEMILL_PAGER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pagemill_pager pagemill_pager;

/* A pager with `memory_bytes` of frames (768 KiB or more). `to` says where the rest goes, as `pagemill pager run --to` does:
 * "compressed", a folder, or "compressed:BYTES,FOLDER". NULL: see pagemill_pager_error(). */
pagemill_pager *pagemill_pager_open(uint64_t memory_bytes, const char *to);

/* The same, but the thread that faults answers its fault itself, in a handler of SIGBUS, which costs about half. No privilege is
 * needed. In exchange, system calls that touch such memory fail with EFAULT (copy through other memory), threads must not block
 * SIGBUS or touch it on their stacks, and signal handlers must not touch it. A handler of SIGBUS that the program had set before
 * gets all other bus errors; none may be set later. */
pagemill_pager *pagemill_pager_open_in_thread(uint64_t memory_bytes, const char *to);

/* `bytes` bytes of zeros, aligned to 2 MiB. NULL: see pagemill_pager_error(). */
void *pagemill_pager_map(pagemill_pager *pager, size_t bytes);

/* `bytes` bytes of the file at `path` from `offset` on, as memory. `mode`: "r" and "c" leave the file as it is (changes end with
 * the memory), "r+" writes changes to it and makes it longer if it has to be, "w+" makes or empties it first and allocates its blocks.
 * Only units of 4 KiB that changed are written: when they leave their frames, by pagemill_pager_flush(), and at the end. A process that is
 * killed leaves each unit of the file old or new. Do not pass paged memory to a system call that reads or writes the file itself.
 * A file that is shortened meanwhile, or cannot be written when a unit leaves its frame, stops the program with a message.
 * NULL: see pagemill_pager_error(). */
void *pagemill_pager_map_file(pagemill_pager *pager, const char *path, const char *mode, uint64_t offset,
                              uint64_t bytes);

/* Writes what changed to the file of `memory`, and returns once it is on the disk. 0, or -1: see pagemill_pager_error(); what was not
 * written is written by the next call. One thread at a time for each memory. */
int pagemill_pager_flush(pagemill_pager *pager, void *memory);

/* Ends what pagemill_pager_map() or pagemill_pager_map_file() returned; changes are written to the file first. 0, or -1: `memory` is not
 * what they returned, or its file cannot be written; then it is still there. */
int pagemill_pager_unmap(pagemill_pager *pager, void *memory);

/* A counter by its name in results: "read_faults", "fetched_units", "resident_units", ... UINT64_MAX: there is none of that name. */
uint64_t pagemill_pager_count(pagemill_pager *pager, const char *name);

/* Ends the pager and all its memory; changes are written to their files. NULL is allowed. A process that ends without this loses changes
 * since the last flush. */
void pagemill_pager_close(pagemill_pager *pager);

/* Why the last call of this thread failed; "" if it did not. Valid until the thread's next call. */
const char *pagemill_pager_error(void);

#ifdef __cplusplus
}
#endif

#endif
