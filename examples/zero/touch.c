/* Allocates memory, writes a byte of each 4 KiB and frees it, three times: `touch MIB`. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    size_t bytes = (argc == 2 ? strtoul(argv[1], NULL, 10) : 0) << 20;
    unsigned char sum = 0;

    if (!bytes) {
        fprintf(stderr, "usage: touch MIB\n");
        return 2;
    }
    for (int round = 0; round < 3; round++) {
        volatile unsigned char *memory = malloc(bytes);

        if (!memory) {
            fprintf(stderr, "touch: there are no %zu bytes\n", bytes);
            return 1;
        }
        for (size_t at = 0; at < bytes; at += 4096) memory[at] = 1;
        sum += memory[bytes - 4096];
        free((void *)memory);
    }
    printf("%u\n", sum);
    return 0;
}
