/* Adds up 64 MiB of numbers in 8 MiB of frames.
 *
 *     cc -o sum examples/pager/sum.c -lpagemill_pager_c
 */
#include <inttypes.h>
#include <pagemill_pager.h>
#include <stdio.h>

int main(int argc, char **argv) {
    const size_t count = (size_t)8 << 20;
    pagemill_pager *pager = pagemill_pager_open(8 << 20, argc > 1 ? argv[1] : "compressed");
    if (!pager) {
        fprintf(stderr, "%s\n", pagemill_pager_error());
        return 2;
    }
    uint64_t *numbers = pagemill_pager_map(pager, count * sizeof *numbers);
    if (!numbers) {
        fprintf(stderr, "%s\n", pagemill_pager_error());
        return 1;
    }
    for (size_t i = 0; i < count; i++) numbers[i] = i * i;
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) sum += numbers[i];
    printf("sum %" PRIu64 ", %" PRIu64 " units of 4 KiB came back\n", sum,
           pagemill_pager_count(pager, "fetched_units"));
    pagemill_pager_unmap(pager, numbers);
    pagemill_pager_close(pager);
    return 0;
}
