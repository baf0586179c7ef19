/* Borrow clean huge pages from pagemill's pool. Link with -lpagemill_zero_c.
 *
 * The pool's socket is $PAGEMILL_ZERO_SOCKET, else /run/pagemill/zero.sock. All calls may be made by any thread.
 * After fork(), memory is shared with the child; the child must not call pagemill_zero_put() for memory it inherited.
 */
#ifndef PAGEMILL_ZERO_H
#define PAGEMILL_ZERO_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* At least `bytes` bytes of zeroes in 2 MiB pages, mapped and populated, aligned to 2 MiB. Where the pool has too little,
 * waits up to `wait_ms` milliseconds. NULL: see pagemill_zero_error(). */
void *pagemill_zero_get(size_t bytes, unsigned wait_ms);

/* Unmaps what pagemill_zero_get() returned and gives it back. 0, or -1: `memory` is not what it returned. */
int pagemill_zero_put(void *memory);

/* Why the last call of this thread failed; "" if it did not. Valid until the thread's next call. */
const char *pagemill_zero_error(void);

#ifdef __cplusplus
}
#endif

#endif
