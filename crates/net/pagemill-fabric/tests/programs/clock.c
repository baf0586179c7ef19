/* Programs that wait for their clock come to an end, and readings that nothing lies between differ. */

#include <mpi.h>
#include <stdio.h>

static int readings_until(double seconds) {
    double start = MPI_Wtime();
    int readings = 0;

    while (MPI_Wtime() - start < seconds) readings++;
    return readings;
}

int main(int argc, char **argv) {
    int rank;
    int readings;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    readings = readings_until(1e-6);
    MPI_Barrier(MPI_COMM_WORLD);
    /* One rank waits; the other is in the barrier meanwhile. */
    if (rank == 1) readings += readings_until(1e-3);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d: %d readings, at %.0f ps\n", rank, readings, MPI_Wtime() * 1e12);
    MPI_Finalize();
    return 0;
}
