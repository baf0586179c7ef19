/* pingpong A B BYTES: ranks A and B exchange messages. stream PAIRS BYTES: ranks 0.. send to those two further on. name: host names. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 10, MESSAGES = 8 };

static int rank;

static void ping_pong(int first, int second, int bytes) {
    char *buffer = calloc(1, bytes + 1);
    double begin = MPI_Wtime();
    for (int round = 0; round < ROUNDS; round++) {
        if (rank == first) {
            memset(buffer, 'a' + round, bytes);
            MPI_Send(buffer, bytes, MPI_CHAR, second, round, MPI_COMM_WORLD);
        }
        if (rank == second) {
            MPI_Recv(buffer, bytes, MPI_CHAR, first, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (bytes > 0 && buffer[bytes - 1] != 'a' + round) MPI_Abort(MPI_COMM_WORLD, 1);
            MPI_Send(buffer, bytes, MPI_CHAR, first, round, MPI_COMM_WORLD);
        }
        if (rank == first) MPI_Recv(buffer, bytes, MPI_CHAR, second, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == first) printf("%.0f\n", (MPI_Wtime() - begin) * 1e12);
    free(buffer);
}

static void stream(int pairs, int bytes) {
    char *buffer = calloc(MESSAGES, bytes);
    MPI_Request requests[MESSAGES];
    int sends = rank < pairs, receives = rank >= 2 && rank < 2 + pairs;
    double begin = MPI_Wtime();
    for (int message = 0; message < MESSAGES && sends; message++)
        MPI_Isend(buffer + (size_t)message * bytes, bytes, MPI_CHAR, rank + 2, message, MPI_COMM_WORLD,
                  &requests[message]);
    for (int message = 0; message < MESSAGES && receives; message++)
        MPI_Irecv(buffer + (size_t)message * bytes, bytes, MPI_CHAR, rank - 2, message, MPI_COMM_WORLD,
                  &requests[message]);
    if (sends || receives) MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
    double span = MPI_Wtime() - begin, spans[64];
    MPI_Gather(&span, 1, MPI_DOUBLE, spans, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int pair = 0; pair < pairs && rank == 0; pair++) printf("%.0f\n", spans[2 + pair] * 1e12);
    free(buffer);
}

static void names(void) {
    char name[MPI_MAX_PROCESSOR_NAME], all[8][MPI_MAX_PROCESSOR_NAME];
    int length, ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Get_processor_name(name, &length);
    MPI_Gather(name, sizeof name, MPI_CHAR, all, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int other = 0; other < ranks && rank == 0; other++) printf("%s\n", all[other]);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(argv[1], "pingpong") == 0)
        ping_pong(atoi(argv[2]), atoi(argv[3]), atoi(argv[4]));
    else if (strcmp(argv[1], "stream") == 0)
        stream(atoi(argv[2]), atoi(argv[3]));
    else
        names();
    MPI_Finalize();
    return 0;
}
