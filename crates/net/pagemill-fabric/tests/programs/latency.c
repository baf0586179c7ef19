/* Ping-pong of two ranks. Prints bytes and picoseconds of a round trip's half, and checks every byte. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 10, BYTES_MAX = 1 << 20 };

static unsigned char out[BYTES_MAX], in[BYTES_MAX];

static void check(int rank, int bytes, int round) {
    if (memcmp(in, out, bytes)) {
        fprintf(stderr, "rank %d: wrong bytes of %d in round %d\n", rank, bytes, round);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv) {
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int bytes = 0; bytes <= BYTES_MAX; bytes = bytes ? bytes * 4 : 1) {
        double start = MPI_Wtime();
        for (int round = 0; round < ROUNDS; round++) {
            memset(out, round + bytes, bytes);
            memset(in, 0xee, bytes);
            if (rank == 0) {
                MPI_Send(out, bytes, MPI_BYTE, 1, round, MPI_COMM_WORLD);
                MPI_Recv(in, bytes, MPI_BYTE, 1, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else {
                MPI_Recv(in, bytes, MPI_BYTE, 0, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Send(out, bytes, MPI_BYTE, 0, round, MPI_COMM_WORLD);
            }
            check(rank, bytes, round);
        }
        if (rank == 0) printf("%d %.0f\n", bytes, (MPI_Wtime() - start) * 1e12);
    }
    MPI_Finalize();
    return 0;
}
