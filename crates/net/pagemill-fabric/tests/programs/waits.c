/* Rank 0 is late with one message, and rank 1 with the receive of another. */
#include <mpi.h>
#include <stdio.h>

static char bytes[1 << 20];

static void be_late(double seconds) {
    double until = MPI_Wtime() + seconds;
    while (MPI_Wtime() < until);
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) be_late(300e-6);
    if (rank == 0)
        MPI_Send(bytes, 8, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(bytes, 8, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) be_late(500e-6);
    if (rank == 0)
        MPI_Send(bytes, sizeof bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
    else
        MPI_Recv(bytes, sizeof bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
