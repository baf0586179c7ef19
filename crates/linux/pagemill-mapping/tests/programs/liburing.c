// Gives memory back through liburing: `liburing`, linked with it and without its header. Prints how many bytes are not zero then.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int io_uring_queue_init(unsigned entries, void *ring, unsigned flags);
void *io_uring_get_sqe(void *ring);
int io_uring_submit_and_wait(void *ring, unsigned count);

enum { BYTES = 8 << 20, MADVISE = 25 };

int main(void) {
    _Alignas(8) char ring[512] = {0};
    int made = io_uring_queue_init(4, ring, 0);
    if (made < 0) {
        printf("no ring\n");
        return 77;
    }
    unsigned char *memory = malloc(BYTES);
    memset(memory, 7, BYTES);
    unsigned char *start = memory + 4096 - (uintptr_t)memory % 4096;
    uint64_t *entry = io_uring_get_sqe(ring);
    memset(entry, 0, 64);
    entry[0] = MADVISE | (uint64_t)UINT32_MAX << 32;
    entry[2] = (uintptr_t)start;
    entry[3] = BYTES / 2 | (uint64_t)MADV_DONTNEED << 32;
    int submitted = io_uring_submit_and_wait(ring, 1);
    size_t left = 0;
    for (size_t i = 0; i < BYTES; i++) left += memory[i] != 0;
    printf("%d submitted, %zu bytes are not zero\n", submitted, left);
    return 0;
}
