/* Every collective, blocking and not, short and long; every operation on several types; intercommunicators. */
#include "areas.h"

#define WORLD MPI_COMM_WORLD

static int count, is_started, root;
static MPI_Request request;

/* Calls a collective in its blocking or in its nonblocking form. */
#define CALL(name, ...)                                                                                                \
    do {                                                                                                               \
        if (is_started) {                                                                                              \
            MPI_I##name(__VA_ARGS__, &request);                                                                        \
            MPI_Wait(&request, MPI_STATUS_IGNORE);                                                                     \
        } else {                                                                                                       \
            NAME_##name(__VA_ARGS__);                                                                                  \
        }                                                                                                              \
    } while (0)
#define NAME_bcast MPI_Bcast
#define NAME_reduce MPI_Reduce
#define NAME_allreduce MPI_Allreduce
#define NAME_gather MPI_Gather
#define NAME_gatherv MPI_Gatherv
#define NAME_scatter MPI_Scatter
#define NAME_scatterv MPI_Scatterv
#define NAME_allgather MPI_Allgather
#define NAME_allgatherv MPI_Allgatherv
#define NAME_alltoall MPI_Alltoall
#define NAME_alltoallv MPI_Alltoallv
#define NAME_alltoallw MPI_Alltoallw
#define NAME_scan MPI_Scan
#define NAME_exscan MPI_Exscan
#define NAME_reduce_scatter MPI_Reduce_scatter
#define NAME_reduce_scatter_block MPI_Reduce_scatter_block

static int *own, *all, *counts, *offsets;

static int part(int of, int at) { return of * 1000003 + at; }

static void prepare(void) {
    own = malloc((size_t)ranks * count * sizeof(int));
    all = malloc((size_t)ranks * count * sizeof(int));
    counts = malloc(ranks * sizeof(int));
    offsets = malloc(ranks * sizeof(int));
    for (int of = 0; of < ranks; of++) {
        counts[of] = count;
        offsets[of] = of * count;
        for (int at = 0; at < count; at++) {
            own[of * count + at] = part(rank, at);
            all[of * count + at] = -1;
        }
    }
}

static void clear(void) {
    free(own);
    free(all);
    free(counts);
    free(offsets);
}

/* Whether `all` holds what each rank gave. */
static int is_gathered(void) {
    for (int of = 0; of < ranks; of++)
        for (int at = 0; at < count; at++)
            if (all[of * count + at] != part(of, at)) return 0;
    return 1;
}

/* Whether the first part of `all` is the sum over ranks `from` to `to`. */
static int is_sum(int from, int to) {
    for (int at = 0; at < count; at++) {
        int sum = 0;

        for (int of = from; of < to; of++) sum += part(of, at);
        if (all[at] != sum) return 0;
    }
    return 1;
}

static int is_part(int of) {
    for (int at = 0; at < count; at++)
        if (all[at] != part(of, at)) return 0;
    return 1;
}

#define COLLECTIVE(name, ...)                                                                                          \
    static void name##_check(void) {                                                                                   \
        prepare();                                                                                                     \
        __VA_ARGS__                                                                                                    \
        clear();                                                                                                       \
    }

COLLECTIVE(bcast, if (rank == root) memcpy(all, own, count * sizeof(int));
           CALL(bcast, all, count, MPI_INT, root, WORLD); EXPECT(is_part(root));)
COLLECTIVE(reduce, CALL(reduce, own, all, count, MPI_INT, MPI_SUM, root, WORLD);
           EXPECT(rank != root || is_sum(0, ranks));)
COLLECTIVE(allreduce, CALL(allreduce, own, all, count, MPI_INT, MPI_SUM, WORLD); EXPECT(is_sum(0, ranks));)
COLLECTIVE(in_place, memcpy(all, own, count * sizeof(int));
           CALL(allreduce, MPI_IN_PLACE, all, count, MPI_INT, MPI_SUM, WORLD); EXPECT(is_sum(0, ranks));)
COLLECTIVE(gather, CALL(gather, own, count, MPI_INT, all, count, MPI_INT, root, WORLD);
           EXPECT(rank != root || is_gathered());)
COLLECTIVE(gatherv, CALL(gatherv, own, count, MPI_INT, all, counts, offsets, MPI_INT, root, WORLD);
           EXPECT(rank != root || is_gathered());)
COLLECTIVE(scatter, CALL(scatter, own, count, MPI_INT, all, count, MPI_INT, root, WORLD); EXPECT(is_part(root));)
COLLECTIVE(scatterv, CALL(scatterv, own, counts, offsets, MPI_INT, all, count, MPI_INT, root, WORLD);
           EXPECT(is_part(root));)
COLLECTIVE(allgather, CALL(allgather, own, count, MPI_INT, all, count, MPI_INT, WORLD); EXPECT(is_gathered());)
COLLECTIVE(allgatherv, CALL(allgatherv, own, count, MPI_INT, all, counts, offsets, MPI_INT, WORLD);
           EXPECT(is_gathered());)
COLLECTIVE(alltoall, CALL(alltoall, own, count, MPI_INT, all, count, MPI_INT, WORLD); EXPECT(is_gathered());)
COLLECTIVE(alltoallv, CALL(alltoallv, own, counts, offsets, MPI_INT, all, counts, offsets, MPI_INT, WORLD);
           EXPECT(is_gathered());)
COLLECTIVE(
    alltoallw, MPI_Datatype types[64]; for (int of = 0; of < ranks; of++) {
        types[of] = MPI_INT;
        offsets[of] *= sizeof(int);
    } CALL(alltoallw, own, counts, offsets, types, all, counts, offsets, types, WORLD);
    EXPECT(is_gathered());)
COLLECTIVE(scan, CALL(scan, own, all, count, MPI_INT, MPI_SUM, WORLD); EXPECT(is_sum(0, rank + 1));)
COLLECTIVE(exscan, CALL(exscan, own, all, count, MPI_INT, MPI_SUM, WORLD); EXPECT(rank == 0 || is_sum(0, rank));)
COLLECTIVE(reduce_scatter, CALL(reduce_scatter, own, all, counts, MPI_INT, MPI_SUM, WORLD); EXPECT(is_sum(0, ranks));)
COLLECTIVE(reduce_scatter_block, CALL(reduce_scatter_block, own, all, count, MPI_INT, MPI_SUM, WORLD);
           EXPECT(is_sum(0, ranks));)

static void barrier_check(void) {
    if (is_started) {
        MPI_Ibarrier(WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Barrier(WORLD);
    }
}

/* Several at once, completed in another order. */
static void overlapping(void) {
    int sums[8], values[8];
    MPI_Request requests[8];

    for (int at = 0; at < 8; at++) {
        values[at] = rank + at;
        MPI_Iallreduce(&values[at], &sums[at], 1, MPI_INT, MPI_SUM, WORLD, &requests[at]);
    }
    for (int at = 7; at >= 0; at--) {
        MPI_Wait(&requests[at], MPI_STATUS_IGNORE);
        EXPECT(sums[at] == ranks * at + ranks * (ranks - 1) / 2);
    }
}

/* Associative and not commutative: the left value of each pair. */
static void leftmost(void *in, void *inout, int *length, MPI_Datatype *of_type) {
    (void)of_type;
    memcpy(inout, in, *length * sizeof(int));
}

static void own_operation(void) {
    MPI_Op left;
    int value = rank + 1, result = -1;

    MPI_Op_create(leftmost, 0, &left);
    MPI_Allreduce(&value, &result, 1, MPI_INT, left, WORLD);
    EXPECT(result == 1);
    MPI_Op_free(&left);
}

static void neighbors(void) {
    int dims = ranks, periods = 1, got[2] = {-1, -1}, left, right;
    MPI_Comm ring;

    MPI_Cart_create(WORLD, 1, &dims, &periods, 0, &ring);
    MPI_Cart_shift(ring, 0, 1, &left, &right);
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, ring);
    EXPECT(got[0] == left && got[1] == right);
    got[0] = got[1] = -1;
    MPI_Ineighbor_allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, ring, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(got[0] == left && got[1] == right);
    MPI_Comm_free(&ring);
}

/* The even ranks on one side, the odd ones on the other. */
static MPI_Comm between(void) {
    MPI_Comm side, both;

    MPI_Comm_split(WORLD, rank % 2, rank, &side);
    MPI_Intercomm_create(side, 0, WORLD, 1 - rank % 2, 9, &both);
    MPI_Comm_free(&side);
    return both;
}

static void inter_allreduce(void) {
    MPI_Comm both = between();
    int sum, expected = 0;

    for (int of = 1 - rank % 2; of < ranks; of += 2) expected += of;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, both);
    EXPECT(sum == expected);
    MPI_Comm_free(&both);
}

static void inter_bcast(void) {
    MPI_Comm both = between();
    int value = rank == 0 ? 42 : -1;
    int from = rank == 0 ? MPI_ROOT : rank % 2 == 0 ? MPI_PROC_NULL : 0;

    MPI_Bcast(&value, 1, MPI_INT, from, both);
    EXPECT(rank % 2 == 0 || value == 42);
    MPI_Comm_free(&both);
}

static void inter_barrier(void) {
    MPI_Comm both = between();

    MPI_Barrier(both);
    MPI_Comm_free(&both);
}

static void inter_message(void) {
    MPI_Comm both = between();
    int own_rank, remote, got = -1;

    MPI_Comm_rank(both, &own_rank);
    MPI_Comm_remote_size(both, &remote);
    if (own_rank == 0) MPI_Sendrecv(&rank, 1, MPI_INT, 0, 1, &got, 1, MPI_INT, 0, 1, both, MPI_STATUS_IGNORE);
    EXPECT(remote > 0 && (own_rank != 0 || got == 1 - rank));
    MPI_Comm_free(&both);
}

/* Every predefined operation on a type: rank r gives r + 1. */
static MPI_Op operation;
static MPI_Datatype type;

static long long reduced(MPI_Op op) {
    long long result = 1;

    for (int of = 1; of < ranks; of++) {
        long long value = of + 1;

        if (op == MPI_SUM) result += value;
        if (op == MPI_PROD) result *= value;
        if (op == MPI_MAX) result = value > result ? value : result;
        if (op == MPI_MIN) result = value < result ? value : result;
        if (op == MPI_BAND) result &= value;
        if (op == MPI_BOR) result |= value;
        if (op == MPI_BXOR) result ^= value;
        if (op == MPI_LAND) result = result && value;
        if (op == MPI_LOR) result = result || value;
        if (op == MPI_LXOR) result = !result != !value;
    }
    return result;
}

static void operate(void) {
    union {
        int i;
        long l;
        unsigned char c;
        double d;
        float f;
        short s;
    } value, result;
    long long found = -1, given = rank + 1;

    if (type == MPI_INT) value.i = given;
    if (type == MPI_LONG) value.l = given;
    if (type == MPI_UNSIGNED_CHAR) value.c = given;
    if (type == MPI_SHORT) value.s = given;
    if (type == MPI_DOUBLE) value.d = given;
    if (type == MPI_FLOAT) value.f = given;
    MPI_Allreduce(&value, &result, 1, type, operation, WORLD);
    if (type == MPI_INT) found = result.i;
    if (type == MPI_LONG) found = result.l;
    if (type == MPI_UNSIGNED_CHAR) found = result.c;
    if (type == MPI_SHORT) found = result.s;
    if (type == MPI_DOUBLE) found = result.d;
    if (type == MPI_FLOAT) found = result.f;
    EXPECT(found == reduced(operation));
}

static void place_of_largest(void) {
    struct {
        double value;
        int place;
    } given = {rank == 1 ? 9.0 : 1.0, rank}, found;

    MPI_Allreduce(&given, &found, 1, MPI_DOUBLE_INT, MPI_MAXLOC, WORLD);
    EXPECT(found.value == 9.0 && found.place == 1);
    MPI_Allreduce(&given, &found, 1, MPI_DOUBLE_INT, MPI_MINLOC, WORLD);
    EXPECT(found.value == 1.0 && found.place == 0);
}

static void run_collectives(void) {
    static const struct check checks[] = {
        {"barrier", barrier_check},
        {"bcast", bcast_check},
        {"reduce", reduce_check},
        {"allreduce", allreduce_check},
        {"in place", in_place_check},
        {"gather", gather_check},
        {"gatherv", gatherv_check},
        {"scatter", scatter_check},
        {"scatterv", scatterv_check},
        {"allgather", allgather_check},
        {"allgatherv", allgatherv_check},
        {"alltoall", alltoall_check},
        {"alltoallv", alltoallv_check},
        {"alltoallw", alltoallw_check},
        {"scan", scan_check},
        {"exscan", exscan_check},
        {"reduce_scatter", reduce_scatter_check},
        {"reduce_scatter_block", reduce_scatter_block_check},
    };

    for (is_started = 0; is_started < 2; is_started++)
        for (count = 1; count <= 5000; count *= 5000)
            for (int at = 0; at < LENGTH(checks); at++) {
                char name[80];

                root = at % ranks;
                snprintf(name, sizeof(name), "%s %s of %d", is_started ? "started" : "blocking", checks[at].name,
                         count);
                run_check("collectives", name, checks[at].run);
            }
}

static void run_operations(void) {
    const struct {
        const char *name;
        MPI_Op op;
        int is_for_floats;
    } operations[] = {
        {"sum", MPI_SUM, 1},          {"product", MPI_PROD, 1},     {"maximum", MPI_MAX, 1},
        {"minimum", MPI_MIN, 1},      {"bits and", MPI_BAND, 0},    {"bits or", MPI_BOR, 0},
        {"bits xor", MPI_BXOR, 0},    {"logical and", MPI_LAND, 0}, {"logical or", MPI_LOR, 0},
        {"logical xor", MPI_LXOR, 0},
    };
    const struct {
        const char *name;
        MPI_Datatype type;
        int is_float;
    } types[] = {
        {"int", MPI_INT, 0},     {"long", MPI_LONG, 0},     {"unsigned char", MPI_UNSIGNED_CHAR, 0},
        {"short", MPI_SHORT, 0}, {"double", MPI_DOUBLE, 1}, {"float", MPI_FLOAT, 1},
    };

    for (int op = 0; op < LENGTH(operations); op++)
        for (int of = 0; of < LENGTH(types); of++) {
            char name[80];

            if (types[of].is_float && !operations[op].is_for_floats) continue;
            operation = operations[op].op;
            type = types[of].type;
            snprintf(name, sizeof(name), "%s of %s", operations[op].name, types[of].name);
            run_check("operations", name, operate);
        }
}

int main(int argc, char **argv) {
    static const struct check checks[] = {
        {"overlapping", overlapping},           {"own operation", own_operation},     {"neighbors", neighbors},
        {"place of largest", place_of_largest}, {"inter allreduce", inter_allreduce}, {"inter bcast", inter_bcast},
        {"inter barrier", inter_barrier},       {"inter message", inter_message},
    };

    start(&argc, &argv);
    run_collectives();
    run_operations();
    run_checks("collectives", checks, LENGTH(checks));
    MPI_Finalize();
    return failed;
}
