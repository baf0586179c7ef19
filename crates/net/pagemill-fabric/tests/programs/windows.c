/* Windows of every kind: shared ones are one memory, the others are reached through the interface. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void check(int is_right, const char *what) {
    if (!is_right) {
        printf("wrong: %s\n", what);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void shared(MPI_Comm node, int rank, int ranks) {
    int *own, *first, *next, unit, *flavor, found;
    MPI_Aint bytes;
    MPI_Win window;

    MPI_Win_allocate_shared(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, node, &own, &window);
    MPI_Win_get_attr(window, MPI_WIN_CREATE_FLAVOR, &flavor, &found);
    check(found && *flavor == MPI_WIN_FLAVOR_SHARED, "flavor of a shared window");
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
    own[0] = 100 + rank;
    MPI_Win_sync(window);
    MPI_Barrier(node);
    MPI_Win_sync(window);
    MPI_Win_shared_query(window, (rank + 1) % ranks, &bytes, &unit, &next);
    check(next[0] == 100 + (rank + 1) % ranks, "the neighbor's word");
    MPI_Win_unlock_all(window);
    MPI_Win_shared_query(window, MPI_PROC_NULL, &bytes, &unit, &first);
    check(first[0] == 100, "the first word");
    for (int i = 0; i < 50; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
        first[1]++;
        MPI_Win_unlock(0, window);
    }
    MPI_Barrier(node);
    check(first[1] >= 50 * ranks, "a counter under a lock");
    MPI_Win_free(&window);
}

static void through_the_interface(int rank, int ranks) {
    int *own, *flavor, found, value = 100 + rank;
    MPI_Win window;

    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window);
    MPI_Win_get_attr(window, MPI_WIN_CREATE_FLAVOR, &flavor, &found);
    check(found && *flavor == MPI_WIN_FLAVOR_ALLOCATE, "flavor of an allocated window");
    double start = MPI_Wtime();
    MPI_Win_fence(0, window);
    MPI_Put(&value, 1, MPI_INT, (rank + 1) % ranks, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    check(*own == 100 + (rank + ranks - 1) % ranks, "a word that was put");
    check(MPI_Wtime() - start > 1e-6, "a put takes time");
    MPI_Win_free(&window);
}

int main(int argc, char **argv) {
    int rank, ranks;
    MPI_Comm node;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    shared(node, rank, ranks);
    through_the_interface(rank, ranks);
    printf("rank %d: right\n", rank);
    MPI_Comm_free(&node);
    MPI_Finalize();
    return 0;
}
