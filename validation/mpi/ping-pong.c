/* What a ping-pong message costs: arguments are round trips (20000) and bytes (8). Rank 0 prints sums over both ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { USER, SYSTEM, VOLUNTARY, INVOLUNTARY, FIGURES };

static double us(struct timeval time) { return time.tv_sec * 1e6 + time.tv_usec; }

/* Adds `sign` times what this process has used. */
static void add(double *figures, int sign) {
    struct rusage used;

    getrusage(RUSAGE_SELF, &used);
    figures[USER] += sign * us(used.ru_utime);
    figures[SYSTEM] += sign * us(used.ru_stime);
    figures[VOLUNTARY] += sign * used.ru_nvcsw;
    figures[INVOLUNTARY] += sign * used.ru_nivcsw;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 20000, bytes = argc > 2 ? atoi(argv[2]) : 8, rank;
    char *data = calloc(bytes + 1, 1);
    double virtual_s, own[FIGURES] = {0}, all[FIGURES];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    add(own, -1);
    virtual_s = MPI_Wtime();
    for (int round = 0; round < rounds; round++) {
        if (rank == 0) MPI_Send(data, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(data, bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) MPI_Send(data, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
    virtual_s = MPI_Wtime() - virtual_s;
    add(own, 1);
    MPI_Reduce(own, all, FIGURES, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        double messages = 2.0 * rounds;

        printf("%.6f us of virtual time a message\n", virtual_s * 1e6 / messages);
        printf("%.2f us of CPU time a message: %.2f user, %.2f system\n", (all[USER] + all[SYSTEM]) / messages,
               all[USER] / messages, all[SYSTEM] / messages);
        printf("%.2f context switches a message: %.2f sleeps, %.2f preemptions\n",
               (all[VOLUNTARY] + all[INVOLUNTARY]) / messages, all[VOLUNTARY] / messages, all[INVOLUNTARY] / messages);
    }
    MPI_Finalize();
    return 0;
}
