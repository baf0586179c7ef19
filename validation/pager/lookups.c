// A table of records of 1 KiB, filled in order, then looked up by chance; every tenth one is changed: `lookups MIB LOOKUPS`.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t mix(uint64_t z) {
    z += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

enum { WORDS = 128 };

int main(int count, char **arguments) {
    if (count != 3) return 2;
    uint64_t records = strtoull(arguments[1], NULL, 10) << 10, lookups = strtoull(arguments[2], NULL, 10), sum = 0;
    uint64_t (*table)[WORDS] = malloc(records * sizeof *table);
    if (!table) return 2;
    for (uint64_t i = 0; i < records; i++)
        for (int k = 0; k < WORDS; k++) table[i][k] = k % 4 ? mix(i + k) % 50 : i * k;
    for (uint64_t i = 0; i < lookups; i++) {
        uint64_t *record = table[mix(~i) % records];
        sum += record[1] + record[WORDS - 1];
        if (i % 10 == 0) record[2] += i;
    }
    printf("%lu\n", sum);
    return 0;
}
