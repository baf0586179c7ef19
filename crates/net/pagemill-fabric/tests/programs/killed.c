/* Rank 1 dies in the middle of a conversation. */
#include <mpi.h>
#include <signal.h>

int main(int argc, char **argv) {
    int rank, word = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0;; round++) {
        if (rank == 1 && round == 50) raise(SIGKILL);
        MPI_Sendrecv_replace(&word, 1, MPI_INT, 1 - rank, 0, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}
