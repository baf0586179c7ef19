/* A table of named checks of one area of MPI. Each runs on all ranks; rank 0 prints a line for each. */
#ifndef AREAS_H
#define AREAS_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;
static int wrong;

/* Notes that something is not as MPI says, on whichever rank. */
#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            if (wrong++ < 3) fprintf(stderr, "rank %d, line %d: %s\n", rank, __LINE__, #condition);                    \
        }                                                                                                              \
    } while (0)

struct check {
    const char *name;
    void (*run)(void);
};

#define LENGTH(table) ((int)(sizeof(table) / sizeof((table)[0])))

static int failed;

/* Runs one check on all ranks; rank 0 prints how it went. */
static void run_check(const char *area, const char *name, void (*run)(void)) {
    int all;

    wrong = 0;
    run();
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("%s %s: %s\n", area, name, all ? "wrong" : "right");
    fflush(stdout);
    failed |= all != 0;
}

static inline void run_checks(const char *area, const struct check *checks, int count) {
    for (int at = 0; at < count; at++) run_check(area, checks[at].name, checks[at].run);
}

static void start(int *argc, char ***argv) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

#endif
