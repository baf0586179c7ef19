/* Point-to-point in all its forms, collectives, communicators, one-sided. Every value is checked; each rank prints its time. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size;

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "rank %d: line %d: %s\n", rank, __LINE__, #condition);                                     \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                                              \
        }                                                                                                              \
    } while (0)

static void collectives(int count) {
    long *own = malloc(count * sizeof *own), *all = malloc(size * (size_t)count * sizeof *all);
    long *each = malloc(size * (size_t)count * sizeof *each);

    for (int i = 0; i < count; i++) own[i] = i * (rank + 1L);
    MPI_Allreduce(own, all, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) CHECK(all[i] == i * (size * (size + 1L) / 2));
    MPI_Allgather(own, count, MPI_LONG, all, count, MPI_LONG, MPI_COMM_WORLD);
    for (int r = 0; r < size; r++) CHECK(all[(long)r * count + count - 1] == (count - 1) * (r + 1L));
    for (int r = 0; r < size; r++)
        for (int i = 0; i < count; i++) each[(long)r * count + i] = rank * 1000L + r;
    MPI_Alltoall(each, count, MPI_LONG, all, count, MPI_LONG, MPI_COMM_WORLD);
    for (int r = 0; r < size; r++) CHECK(all[(long)r * count + count / 2] == r * 1000L + rank);
    own[count - 1] = rank == size - 1 ? 4711 : 0;
    MPI_Bcast(own, count, MPI_LONG, size - 1, MPI_COMM_WORLD);
    CHECK(own[count - 1] == 4711);
    MPI_Scan(&(long){rank}, all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all[0] == rank * (rank + 1L) / 2);
    free(own);
    free(all);
    free(each);
}

static void point_to_point(void) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size, got = -1, flag = 0;
    MPI_Status status;
    MPI_Request request;

    MPI_Sendrecv(&rank, 1, MPI_INT, right, 1, &got, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &status);
    CHECK(got == left && status.MPI_SOURCE == left);
    MPI_Irecv(&got, 1, MPI_INT, left, 2, MPI_COMM_WORLD, &request);
    MPI_Ssend(&rank, 1, MPI_INT, right, 2, MPI_COMM_WORLD);
    while (!flag) MPI_Test(&request, &flag, &status);
    CHECK(got == left);
    /* A column of a matrix: not contiguous. */
    int matrix[8][8] = {{0}}, column[8];
    MPI_Datatype type;
    MPI_Type_vector(8, 1, 8, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < 8; i++) matrix[i][3] = rank * 10 + i;
    MPI_Isend(&matrix[0][3], 1, type, right, 3, MPI_COMM_WORLD, &request);
    MPI_Probe(left, 3, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &got);
    CHECK(got == 8);
    MPI_Recv(column, 8, MPI_INT, left, 3, MPI_COMM_WORLD, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 8; i++) CHECK(column[i] == left * 10 + i);
    MPI_Type_free(&type);
    /* A receive without a send. */
    MPI_Irecv(&got, 1, MPI_INT, left, 99, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
}

/* All ranks send to rank 0, which takes what arrives first. The order is that of virtual time. */
static void wildcard(void) {
    if (rank != 0) {
        for (int i = 0; i < 3; i++) MPI_Send(&rank, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
        return;
    }
    for (int i = 0; i < 3 * (size - 1); i++) {
        int got;
        MPI_Status status;
        MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        CHECK(got == status.MPI_SOURCE);
        printf("from %d tag %d\n", got, status.MPI_TAG);
    }
}

static void matched_probe(void) {
    if (rank == 1) MPI_Send(&rank, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Message message;
        MPI_Status status;
        int got = 0;
        MPI_Mprobe(1, 7, MPI_COMM_WORLD, &message, &status);
        MPI_Mrecv(&got, 1, MPI_INT, &message, &status);
        CHECK(got == 1);
    }
}

static void one_sided(void) {
    int *memory, right = (rank + 1) % size, got = -1;
    MPI_Win window;

    MPI_Win_allocate(64 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    for (int i = 0; i < 64; i++) memory[i] = rank;
    MPI_Win_fence(0, window);
    MPI_Put(&(int){rank + 100}, 1, MPI_INT, right, 5, 1, MPI_INT, window);
    MPI_Get(&got, 1, MPI_INT, right, 6, 1, MPI_INT, window);
    MPI_Accumulate(&(int){1}, 1, MPI_INT, 0, 7, 1, MPI_INT, MPI_SUM, window);
    MPI_Win_fence(0, window);
    CHECK(memory[5] == (rank + size - 1) % size + 100);
    CHECK(got == right);
    CHECK(rank != 0 || memory[7] == size);
    MPI_Win_free(&window);
}

int main(int argc, char **argv) {
    MPI_Comm half;
    int sum;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int count = 1; count <= 10000; count *= 100) collectives(count);
    point_to_point();
    wildcard();
    /* Or the wildcard may take the message for the probe. */
    MPI_Barrier(MPI_COMM_WORLD);
    matched_probe();
    one_sided();
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_MAX, half);
    CHECK(sum % 2 == rank % 2);
    MPI_Comm_free(&half);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d at %.0f ps\n", rank, MPI_Wtime() * 1e12);
    MPI_Finalize();
    return 0;
}
