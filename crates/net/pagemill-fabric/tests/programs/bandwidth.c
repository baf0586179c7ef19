/* Windows of messages from rank 0 to rank 1, then both ways. Prints bytes and GB/s; checks every byte. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 16, WINDOWS = 3, BYTES_MAX = 1 << 20 };

static unsigned char *out[WINDOW], *in[WINDOW];

static void transfer(int rank, int bytes, int window, int both_ways) {
    MPI_Request requests[2 * WINDOW];
    int count = 0, sends = both_ways || rank == 0, receives = both_ways || rank == 1;

    for (int i = 0; i < WINDOW; i++) {
        memset(out[i], i + window + bytes + rank, bytes);
        memset(in[i], 0xee, bytes);
    }
    for (int i = 0; receives && i < WINDOW; i++)
        MPI_Irecv(in[i], bytes, MPI_BYTE, 1 - rank, i, MPI_COMM_WORLD, &requests[count++]);
    for (int i = 0; sends && i < WINDOW; i++)
        MPI_Isend(out[i], bytes, MPI_BYTE, 1 - rank, i, MPI_COMM_WORLD, &requests[count++]);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; receives && i < WINDOW; i++)
        for (int at = 0; at < bytes; at++)
            if (in[i][at] != (unsigned char)(i + window + bytes + 1 - rank)) {
                fprintf(stderr, "rank %d: wrong byte %d of message %d\n", rank, at, i);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
}

int main(int argc, char **argv) {
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < WINDOW; i++) {
        out[i] = malloc(BYTES_MAX);
        in[i] = malloc(BYTES_MAX);
    }
    for (int both_ways = 0; both_ways < 2; both_ways++)
        for (int bytes = 1; bytes <= BYTES_MAX; bytes *= 16) {
            /* A first window that does not count: its pages are new to the interface. */
            transfer(rank, bytes, 0, both_ways);
            MPI_Barrier(MPI_COMM_WORLD);
            double start = MPI_Wtime();
            for (int window = 1; window <= WINDOWS; window++) transfer(rank, bytes, window, both_ways);
            MPI_Barrier(MPI_COMM_WORLD);
            double seconds = MPI_Wtime() - start;
            double moved = (1.0 + both_ways) * bytes * WINDOW * WINDOWS;
            if (rank == 0) printf("%s %d %.6f\n", both_ways ? "both" : "one", bytes, moved / seconds / 1e9);
        }
    MPI_Finalize();
    return 0;
}
