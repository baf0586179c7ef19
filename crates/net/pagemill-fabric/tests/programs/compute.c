/*
 * Computes between calls, and brackets what its virtual clock shows of that by its own CPU time.
 * Then rank 0 computes while a message of rank 1 travels, and the other way round.
 */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

static double cpu_seconds(void) {
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

static double burn(long steps) {
    volatile double sum = 1;

    for (long i = 0; i < steps; i++) sum = sum * 1.0000001 + 1e-9;
    return sum;
}

int main(int argc, char **argv) {
    double outer, inner, start, span, end, sum = 0;
    int rank, other, word = 7;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    outer = cpu_seconds();
    start = MPI_Wtime();
    inner = cpu_seconds();
    sum += burn(3000000);
    inner = cpu_seconds() - inner;
    span = MPI_Wtime() - start;
    outer = cpu_seconds() - outer;
    printf("rank %d bracket %.9f %.12f %.9f\n", rank, inner, span, outer);

    for (int round = 0; round < 20; round++) {
        MPI_Request request;

        if (round % 2 == rank) {
            MPI_Irecv(&word, 1, MPI_INT, other, round, MPI_COMM_WORLD, &request);
            sum += burn(20000);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Send(&word, 1, MPI_INT, other, round, MPI_COMM_WORLD);
            sum += burn(5000 * (1 + round % 4));
        }
    }
    MPI_Allreduce(&sum, &end, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    printf("rank %d ends at %.0f ps\n", rank, MPI_Wtime() * 1e12);
    MPI_Finalize();
    return sum < 0;
}
