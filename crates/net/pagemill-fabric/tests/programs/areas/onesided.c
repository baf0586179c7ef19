/* One-sided communication: every operation under every synchronization on every kind of window. */
#include "areas.h"

#define WORLD MPI_COMM_WORLD
#define WORDS 64

static MPI_Win window;
static long *memory;
static MPI_Aint base; /* displacement of the target's memory; not 0 in dynamic windows */
static int synchronization;
static int next, last;

enum { FENCE, LOCK, LOCK_ALL, UNCHECKED, PSCW, SYNCHRONIZATIONS };
static const char *const SYNCHRONIZATION_NAMES[] = {"fence", "lock", "lock_all", "lock without check",
                                                    "start and post"};
enum { CREATED, ALLOCATED, DYNAMIC, KINDS };
static const char *const KIND_NAMES[] = {"created", "allocated", "dynamic"};

static void open_window(int kind) {
    MPI_Aint mine = 0, *all = calloc(ranks, sizeof(*all));

    if (kind == ALLOCATED) {
        MPI_Win_allocate(WORDS * sizeof(long), kind == DYNAMIC ? 1 : sizeof(long), MPI_INFO_NULL, WORLD, &memory,
                         &window);
    } else {
        MPI_Alloc_mem(WORDS * sizeof(long), MPI_INFO_NULL, &memory);
        if (kind == CREATED) {
            MPI_Win_create(memory, WORDS * sizeof(long), sizeof(long), MPI_INFO_NULL, WORLD, &window);
        } else {
            MPI_Win_create_dynamic(MPI_INFO_NULL, WORLD, &window);
            MPI_Win_attach(window, memory, WORDS * sizeof(long));
            MPI_Get_address(memory, &mine);
        }
    }
    MPI_Allgather(&mine, 1, MPI_AINT, all, 1, MPI_AINT, WORLD);
    base = all[next];
    free(all);
}

static void close_window(int kind) {
    MPI_Barrier(WORLD);
    if (kind == DYNAMIC) MPI_Win_detach(window, memory);
    MPI_Win_free(&window);
    if (kind != ALLOCATED) MPI_Free_mem(memory);
}

static MPI_Aint at(int word) { return base ? base + word * (MPI_Aint)sizeof(long) : word; }

static void set_memory(void) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window);
    for (int word = 0; word < WORDS; word++) memory[word] = 1000 * rank + word;
    MPI_Win_unlock(rank, window);
    MPI_Barrier(WORLD);
}

static void begin(void) {
    MPI_Group world, to, from;

    if (synchronization == FENCE) MPI_Win_fence(0, window);
    if (synchronization == LOCK) MPI_Win_lock(MPI_LOCK_SHARED, next, 0, window);
    if (synchronization == LOCK_ALL) MPI_Win_lock_all(0, window);
    if (synchronization == UNCHECKED) MPI_Win_lock(MPI_LOCK_SHARED, next, MPI_MODE_NOCHECK, window);
    if (synchronization == PSCW) {
        MPI_Comm_group(WORLD, &world);
        MPI_Group_incl(world, 1, &next, &to);
        MPI_Group_incl(world, 1, &last, &from);
        MPI_Win_post(from, 0, window);
        MPI_Win_start(to, 0, window);
        MPI_Group_free(&world);
        MPI_Group_free(&to);
        MPI_Group_free(&from);
    }
}

static void end(void) {
    if (synchronization == FENCE) MPI_Win_fence(0, window);
    if (synchronization == LOCK || synchronization == UNCHECKED) MPI_Win_unlock(next, window);
    if (synchronization == LOCK_ALL) MPI_Win_unlock_all(window);
    if (synchronization == PSCW) {
        MPI_Win_complete(window);
        MPI_Win_wait(window);
    }
    MPI_Barrier(WORLD);
}

/* What a word of the own memory is after all is done. */
static long word_of(int word) {
    long value;

    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
    value = memory[word];
    MPI_Win_unlock(rank, window);
    return value;
}

static void put(void) {
    long values[2] = {rank, rank + 1};

    set_memory();
    begin();
    MPI_Put(values, 2, MPI_LONG, next, at(3), 2, MPI_LONG, window);
    end();
    EXPECT(word_of(3) == last && word_of(4) == last + 1 && word_of(5) == 1000 * rank + 5);
}

static void get(void) {
    long values[3] = {-1, -1, -1};

    set_memory();
    begin();
    MPI_Get(values, 3, MPI_LONG, next, at(7), 3, MPI_LONG, window);
    end();
    EXPECT(values[0] == 1000 * next + 7 && values[2] == 1000 * next + 9);
}

static void accumulate(void) {
    long value = 5;

    set_memory();
    begin();
    MPI_Accumulate(&value, 1, MPI_LONG, next, at(2), 1, MPI_LONG, MPI_SUM, window);
    MPI_Accumulate(&value, 1, MPI_LONG, next, at(2), 1, MPI_LONG, MPI_SUM, window);
    end();
    EXPECT(word_of(2) == 1000 * rank + 2 + 10);
}

static void get_accumulate(void) {
    long value = 5, before = -1;

    set_memory();
    begin();
    MPI_Get_accumulate(&value, 1, MPI_LONG, &before, 1, MPI_LONG, next, at(2), 1, MPI_LONG, MPI_SUM, window);
    end();
    EXPECT(before == 1000 * next + 2 && word_of(2) == 1000 * rank + 7);
}

static void fetch_and_op(void) {
    long value = 8, before = -1;

    set_memory();
    begin();
    MPI_Fetch_and_op(&value, &before, MPI_LONG, next, at(1), MPI_REPLACE, window);
    end();
    EXPECT(before == 1000 * next + 1 && word_of(1) == 8);
}

static void compare_and_swap(void) {
    long value = 8, compare = 1000 * next + 1, before = -1;

    set_memory();
    begin();
    MPI_Compare_and_swap(&value, &compare, &before, MPI_LONG, next, at(1), window);
    end();
    EXPECT(before == 1000 * next + 1 && word_of(1) == 8);
}

static void with_gaps(void) {
    long values[3] = {-1, -2, -3};
    MPI_Datatype every_other;

    MPI_Type_vector(3, 1, 2, MPI_LONG, &every_other);
    MPI_Type_commit(&every_other);
    set_memory();
    begin();
    MPI_Put(values, 3, MPI_LONG, next, at(10), 1, every_other, window);
    end();
    EXPECT(word_of(10) == -1 && word_of(11) == 1000 * rank + 11 && word_of(14) == -3);
    MPI_Type_free(&every_other);
}

static void from_bottom(void) {
    long values[2] = {-5, -6};
    MPI_Datatype absolute;
    MPI_Aint address;
    int length = 2;

    MPI_Get_address(values, &address);
    MPI_Type_create_hindexed(1, &length, &address, MPI_LONG, &absolute);
    MPI_Type_commit(&absolute);
    set_memory();
    begin();
    MPI_Put(MPI_BOTTOM, 1, absolute, next, at(20), 2, MPI_LONG, window);
    end();
    EXPECT(word_of(20) == -5 && word_of(21) == -6);
    MPI_Type_free(&absolute);
}

/* All ranks count on one word. */
static void counter(void) {
    long one = 1, before;
    MPI_Aint start;

    memory[0] = 0;
    start = (MPI_Aint)memory;
    MPI_Bcast(&start, 1, MPI_AINT, 0, WORLD);
    MPI_Barrier(WORLD);
    MPI_Win_lock_all(0, window);
    for (int turn = 0; turn < 10; turn++) {
        MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, base ? start : 0, MPI_SUM, window);
        MPI_Win_flush(0, window);
        EXPECT(before >= 0 && before < 10 * ranks);
    }
    MPI_Win_unlock_all(window);
    MPI_Barrier(WORLD);
    EXPECT(rank != 0 || word_of(0) == 10 * ranks);
}

static void exclusive(void) {
    long value;
    MPI_Aint start = (MPI_Aint)memory;

    memory[0] = 0;
    MPI_Bcast(&start, 1, MPI_AINT, 0, WORLD);
    MPI_Barrier(WORLD);
    for (int turn = 0; turn < 10; turn++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
        MPI_Get(&value, 1, MPI_LONG, 0, base ? start : 0, 1, MPI_LONG, window);
        MPI_Win_flush(0, window);
        value++;
        MPI_Put(&value, 1, MPI_LONG, 0, base ? start : 0, 1, MPI_LONG, window);
        MPI_Win_unlock(0, window);
    }
    MPI_Barrier(WORLD);
    EXPECT(rank != 0 || word_of(0) == 10 * ranks);
}

static void with_requests(void) {
    long value = rank, got = -1;
    MPI_Request requests[2];

    set_memory();
    MPI_Win_lock_all(0, window);
    MPI_Rput(&value, 1, MPI_LONG, next, at(30), 1, MPI_LONG, window, &requests[0]);
    MPI_Rget(&got, 1, MPI_LONG, next, at(31), 1, MPI_LONG, window, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Win_unlock_all(window);
    MPI_Barrier(WORLD);
    EXPECT(got == 1000 * next + 31 && word_of(30) == last);
}

static void shared(void) {
    int *mine, *theirs, unit;
    MPI_Aint bytes;
    MPI_Comm node;
    int node_rank, node_ranks;

    MPI_Comm_split_type(WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &node_rank);
    MPI_Comm_size(node, &node_ranks);
    EXPECT(node_ranks == ranks);
    MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, node, &mine, &window);
    MPI_Win_lock_all(0, window);
    *mine = 50 + node_rank;
    MPI_Win_sync(window);
    MPI_Barrier(node);
    MPI_Win_sync(window);
    MPI_Win_shared_query(window, (node_rank + 1) % node_ranks, &bytes, &unit, &theirs);
    EXPECT(*theirs == 50 + (node_rank + 1) % node_ranks && bytes == sizeof(int));
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Comm_free(&node);
}

int main(int argc, char **argv) {
    static const struct check checks[] = {
        {"put", put},
        {"get", get},
        {"accumulate", accumulate},
        {"get_accumulate", get_accumulate},
        {"fetch_and_op", fetch_and_op},
        {"compare_and_swap", compare_and_swap},
        {"with gaps", with_gaps},
        {"from bottom", from_bottom},
    };
    static const struct check passive[] = {
        {"counter", counter},
        {"exclusive", exclusive},
        {"with requests", with_requests},
    };
    char name[80];

    start(&argc, &argv);
    next = (rank + 1) % ranks;
    last = (rank + ranks - 1) % ranks;
    for (int kind = 0; kind < KINDS; kind++) {
        open_window(kind);
        for (synchronization = 0; synchronization < SYNCHRONIZATIONS; synchronization++)
            for (int of = 0; of < LENGTH(checks); of++) {
                snprintf(name, sizeof(name), "%s, %s, %s", KIND_NAMES[kind], SYNCHRONIZATION_NAMES[synchronization],
                         checks[of].name);
                run_check("one-sided", name, checks[of].run);
            }
        for (int of = 0; of < LENGTH(passive); of++) {
            snprintf(name, sizeof(name), "%s, %s", KIND_NAMES[kind], passive[of].name);
            run_check("one-sided", name, passive[of].run);
        }
        close_window(kind);
    }
    run_check("one-sided", "shared", shared);
    MPI_Finalize();
    return failed;
}
