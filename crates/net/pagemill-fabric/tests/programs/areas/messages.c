/* Point to point: every mode, matching, probes, cancel, persistent requests, many and large messages. */
#include "areas.h"

#define WORLD MPI_COMM_WORLD
#define BIG (1 << 20)

/* The first two ranks talk; the others watch. */
static int is_first(void) { return rank == 0; }
static int is_second(void) { return rank == 1; }

typedef int (*send_function)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int (*start_function)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static void fill(int *data, int count, int seed) {
    for (int at = 0; at < count; at++) data[at] = seed + at;
}

static int is_filled(const int *data, int count, int seed) {
    for (int at = 0; at < count; at++)
        if (data[at] != seed + at) return 0;
    return 1;
}

static void send_by(send_function send, int count) {
    int *data = malloc((count + 1) * sizeof(int));
    MPI_Status status;
    int got;

    if (is_first()) {
        fill(data, count, 7);
        EXPECT(send(data, count, MPI_INT, 1, 3, WORLD) == MPI_SUCCESS);
    } else if (is_second()) {
        memset(data, 0, count * sizeof(int));
        MPI_Recv(data, count, MPI_INT, 0, 3, WORLD, &status);
        MPI_Get_count(&status, MPI_INT, &got);
        EXPECT(got == count && status.MPI_SOURCE == 0 && status.MPI_TAG == 3);
        EXPECT(is_filled(data, count, 7));
    }
    free(data);
}

static int buffered(const void *data, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
    int bytes = count * (int)sizeof(int) + MPI_BSEND_OVERHEAD, result;
    void *buffer = malloc(bytes), *back;

    MPI_Buffer_attach(buffer, bytes);
    result = MPI_Bsend(data, count, type, dest, tag, comm);
    MPI_Buffer_detach(&back, &bytes);
    EXPECT(back == buffer);
    free(buffer);
    return result;
}

static void standard_empty(void) { send_by(MPI_Send, 0); }
static void standard_short(void) { send_by(MPI_Send, 1); }
static void standard_eager(void) { send_by(MPI_Send, 1000); }
static void standard_large(void) { send_by(MPI_Send, BIG); }
static void synchronous_empty(void) { send_by(MPI_Ssend, 0); }
static void synchronous_short(void) { send_by(MPI_Ssend, 1); }
static void synchronous_eager(void) { send_by(MPI_Ssend, 1000); }
static void synchronous_large(void) { send_by(MPI_Ssend, BIG); }
static void buffered_short(void) { send_by(buffered, 1); }
static void buffered_eager(void) { send_by(buffered, 1000); }
static void buffered_large(void) { send_by(buffered, BIG); }

static void ready_by(int is_started) {
    int value = 5;
    MPI_Request request = MPI_REQUEST_NULL;

    if (is_second()) MPI_Irecv(&value, 1, MPI_INT, 0, 3, WORLD, &request);
    MPI_Barrier(WORLD);
    if (is_first()) {
        value = 11;
        if (is_started)
            MPI_Irsend(&value, 1, MPI_INT, 1, 3, WORLD, &request);
        else
            MPI_Rsend(&value, 1, MPI_INT, 1, 3, WORLD);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(rank > 1 || value == 11);
}

static void ready(void) { ready_by(0); }
static void ready_started(void) { ready_by(1); }

static void start_by(start_function begin, int count) {
    int *data = malloc(count * sizeof(int));
    MPI_Request request = MPI_REQUEST_NULL;

    fill(data, count, is_first() ? 9 : 0);
    if (is_first())
        begin(data, count, MPI_INT, 1, 4, WORLD, &request);
    else if (is_second())
        MPI_Irecv(data, count, MPI_INT, 0, 4, WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(rank > 1 || is_filled(data, count, 9));
    free(data);
}

static void started_short(void) { start_by(MPI_Isend, 1); }
static void started_large(void) { start_by(MPI_Isend, BIG); }
static void started_synchronous_short(void) { start_by(MPI_Issend, 1); }
static void started_synchronous_large(void) { start_by(MPI_Issend, BIG); }

static void synchronous_waits(void) {
    int value = 1, is_done = 1;
    MPI_Request request;

    if (is_first()) {
        MPI_Issend(&value, 1, MPI_INT, 1, 3, WORLD, &request);
        MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
        EXPECT(!is_done);
    }
    MPI_Barrier(WORLD);
    if (is_second()) MPI_Recv(&value, 1, MPI_INT, 0, 3, WORLD, MPI_STATUS_IGNORE);
    if (is_first()) MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void to_oneself(void) {
    int sent = rank, got = -1;
    MPI_Request request;

    MPI_Isend(&sent, 1, MPI_INT, rank, 1, WORLD, &request);
    MPI_Recv(&got, 1, MPI_INT, rank, 1, WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(got == rank);
}

static void to_proc_null(void) {
    int value = 3;
    MPI_Status status;

    MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 1, WORLD);
    MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, WORLD, &status);
    EXPECT(value == 3 && status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
}

static void exchange(void) {
    int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks, got = -1;

    MPI_Sendrecv(&rank, 1, MPI_INT, next, 1, &got, 1, MPI_INT, last, 1, WORLD, MPI_STATUS_IGNORE);
    EXPECT(got == last);
}

static void exchange_in_place(void) {
    int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks, value = rank;

    MPI_Sendrecv_replace(&value, 1, MPI_INT, next, 1, last, 1, WORLD, MPI_STATUS_IGNORE);
    EXPECT(value == last);
}

static void order_is_kept(void) {
    int value;

    for (int at = 0; at < 100; at++) {
        if (is_first()) MPI_Send(&at, 1, MPI_INT, 1, 2, WORLD);
        if (is_second()) {
            MPI_Recv(&value, 1, MPI_INT, 0, 2, WORLD, MPI_STATUS_IGNORE);
            EXPECT(value == at);
        }
    }
}

static void tags_choose(void) {
    int values[2] = {1, 2};

    if (is_first()) {
        MPI_Send(&values[0], 1, MPI_INT, 1, 1, WORLD);
        MPI_Send(&values[1], 1, MPI_INT, 1, 2, WORLD);
    } else if (is_second()) {
        MPI_Recv(&values[1], 1, MPI_INT, 0, 2, WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&values[0], 1, MPI_INT, 0, 1, WORLD, MPI_STATUS_IGNORE);
        EXPECT(values[0] == 1 && values[1] == 2);
    }
}

static void largest_tag(void) {
    int *largest, found, value = 8;

    MPI_Comm_get_attr(WORLD, MPI_TAG_UB, &largest, &found);
    EXPECT(found && *largest >= 32767);
    if (is_first())
        MPI_Send(&value, 1, MPI_INT, 1, *largest, WORLD);
    else if (is_second())
        MPI_Recv(&value, 1, MPI_INT, 0, *largest, WORLD, MPI_STATUS_IGNORE);
}

static void from_any_source(void) {
    int value, seen = 0;
    MPI_Status status;

    if (rank > 0) MPI_Send(&rank, 1, MPI_INT, 0, rank, WORLD);
    for (int at = 1; rank == 0 && at < ranks; at++) {
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &status);
        EXPECT(value == status.MPI_SOURCE && value == status.MPI_TAG);
        seen |= 1 << value;
    }
    EXPECT(rank > 0 || seen == (1 << ranks) - 2);
}

static void probe_tells(void) {
    int values[3] = {1, 2, 3}, count;
    MPI_Status status;

    if (is_first()) MPI_Send(values, 3, MPI_INT, 1, 6, WORLD);
    if (is_second()) {
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        EXPECT(count == 3 && status.MPI_SOURCE == 0 && status.MPI_TAG == 6);
        MPI_Recv(values, 3, MPI_INT, 0, 6, WORLD, MPI_STATUS_IGNORE);
    }
}

static void probe_finds_none(void) {
    int found = 1;

    MPI_Iprobe(MPI_ANY_SOURCE, 77, WORLD, &found, MPI_STATUS_IGNORE);
    EXPECT(!found);
}

static void matched_by(send_function send, int count, int is_started) {
    int *data = malloc((count + 1) * sizeof(int)), got;
    MPI_Message message;
    MPI_Status status;
    MPI_Request request;

    if (is_first()) {
        fill(data, count, 4);
        send(data, count, MPI_INT, 1, 5, WORLD);
    } else if (is_second()) {
        MPI_Mprobe(0, MPI_ANY_TAG, WORLD, &message, &status);
        MPI_Get_count(&status, MPI_INT, &got);
        EXPECT(got == count);
        if (is_started) {
            MPI_Imrecv(data, count, MPI_INT, &message, &request);
            MPI_Wait(&request, &status);
        } else {
            MPI_Mrecv(data, count, MPI_INT, &message, &status);
        }
        EXPECT(message == MPI_MESSAGE_NULL && status.MPI_TAG == 5);
        EXPECT(is_filled(data, count, 4));
    }
    free(data);
}

static void matched_short(void) { matched_by(MPI_Send, 2, 0); }
static void matched_large(void) { matched_by(MPI_Send, BIG, 0); }
static void matched_synchronous(void) { matched_by(MPI_Ssend, 2, 0); }
static void matched_synchronous_large(void) { matched_by(MPI_Ssend, BIG, 1); }
static void matched_started(void) { matched_by(MPI_Send, 2, 1); }

static void matched_with_gaps(void) {
    int data[8] = {1, -1, -1, -1, 2, -1, -1, -1};
    MPI_Datatype gaps;
    MPI_Message message;

    MPI_Type_vector(2, 1, 4, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    if (is_first()) MPI_Send(data, 1, gaps, 1, 5, WORLD);
    if (is_second()) {
        memset(data, 0, sizeof(data));
        MPI_Mprobe(0, 5, WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(data, 1, gaps, &message, MPI_STATUS_IGNORE);
        EXPECT(data[0] == 1 && data[1] == 0 && data[4] == 2);
    }
    MPI_Type_free(&gaps);
}

static void matched_none(void) {
    int found = 1;
    MPI_Message message;
    MPI_Status status;

    MPI_Improbe(MPI_ANY_SOURCE, 77, WORLD, &found, &message, MPI_STATUS_IGNORE);
    EXPECT(!found);
    MPI_Mprobe(MPI_PROC_NULL, 1, WORLD, &message, &status);
    EXPECT(message == MPI_MESSAGE_NO_PROC && status.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Mrecv(NULL, 0, MPI_INT, &message, &status);
    EXPECT(message == MPI_MESSAGE_NULL);
}

static void matched_is_out_of_reach(void) {
    int value = 1, found = 1;
    MPI_Message message;

    if (is_first()) {
        MPI_Send(&value, 1, MPI_INT, 1, 5, WORLD);
        value = 2;
        MPI_Send(&value, 1, MPI_INT, 1, 5, WORLD);
    }
    if (is_second()) {
        MPI_Mprobe(0, 5, WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Recv(&value, 1, MPI_INT, 0, 5, WORLD, MPI_STATUS_IGNORE);
        EXPECT(value == 2);
        MPI_Iprobe(0, 5, WORLD, &found, MPI_STATUS_IGNORE);
        EXPECT(!found);
        MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        EXPECT(value == 1);
    }
}

static void cancel_receive(void) {
    int value, is_canceled;
    MPI_Request request;
    MPI_Status status;

    MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 88, WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &is_canceled);
    EXPECT(is_canceled);
}

static void cancel_received(void) {
    int value = 4, is_canceled;
    MPI_Request request;
    MPI_Status status;

    if (is_first()) MPI_Send(&value, 1, MPI_INT, 1, 3, WORLD);
    if (is_second()) MPI_Irecv(&value, 1, MPI_INT, 0, 3, WORLD, &request);
    MPI_Barrier(WORLD);
    if (is_second()) {
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &is_canceled);
        EXPECT(!is_canceled && value == 4);
    }
}

/* A send may be canceled or not; if not, the message arrives. */
static void cancel_send_of(start_function begin, int count) {
    int *data = calloc(count, sizeof(int)), is_canceled = 0;
    MPI_Request request;
    MPI_Status status;

    if (is_first()) {
        begin(data, count, MPI_INT, 1, 3, WORLD, &request);
        MPI_Cancel(&request);
    }
    if (is_first() && begin == MPI_Isend && count == 1) {
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &is_canceled);
        request = MPI_REQUEST_NULL;
    }
    MPI_Bcast(&is_canceled, 1, MPI_INT, 0, WORLD);
    if (is_second() && !is_canceled) MPI_Recv(data, count, MPI_INT, 0, 3, WORLD, MPI_STATUS_IGNORE);
    if (is_first()) MPI_Wait(&request, &status);
    free(data);
}

static void cancel_send(void) { cancel_send_of(MPI_Isend, 1); }
static void cancel_large_send(void) { cancel_send_of(MPI_Isend, BIG); }
static void cancel_synchronous_send(void) { cancel_send_of(MPI_Issend, 1); }

static void cancel_many_receives(void) {
    enum { MANY = 2000 };
    static int values[MANY];
    static MPI_Request requests[MANY];
    static MPI_Status statuses[MANY];
    int is_canceled, all = 1;

    for (int at = 0; at < MANY; at++)
        MPI_Irecv(&values[at], 1, MPI_INT, MPI_ANY_SOURCE, 1000 + at, WORLD, &requests[at]);
    for (int at = 0; at < MANY; at++) MPI_Cancel(&requests[at]);
    MPI_Waitall(MANY, requests, statuses);
    for (int at = 0; at < MANY; at++) {
        MPI_Test_cancelled(&statuses[at], &is_canceled);
        all &= is_canceled;
    }
    EXPECT(all);
}

typedef int (*init_function)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static void persistent_by(init_function init, int count) {
    int *data = calloc(count, sizeof(int));
    MPI_Request request = MPI_REQUEST_NULL;

    if (is_first())
        init(data, count, MPI_INT, 1, 3, WORLD, &request);
    else if (is_second())
        MPI_Recv_init(data, count, MPI_INT, 0, 3, WORLD, &request);
    for (int turn = 0; rank < 2 && turn < 5; turn++) {
        fill(data, count, is_first() ? turn : -1);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        EXPECT(request != MPI_REQUEST_NULL && is_filled(data, count, turn));
    }
    if (rank < 2) MPI_Request_free(&request);
    free(data);
}

static void persistent_short(void) { persistent_by(MPI_Send_init, 4); }
static void persistent_large(void) { persistent_by(MPI_Send_init, BIG); }
static void persistent_synchronous(void) { persistent_by(MPI_Ssend_init, 4); }

static void persistent_with_offset(void) {
    int values[4] = {1, 2, 3, 4};
    int length = 2, offset = 1;
    MPI_Datatype inner;
    MPI_Request request = MPI_REQUEST_NULL;

    MPI_Type_indexed(1, &length, &offset, MPI_INT, &inner);
    MPI_Type_commit(&inner);
    if (is_first()) MPI_Send_init(values, 1, inner, 1, 3, WORLD, &request);
    for (int turn = 0; turn < 3; turn++) {
        int got[2] = {0, 0};

        if (is_first()) {
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else if (is_second()) {
            MPI_Recv(got, 2, MPI_INT, 0, 3, WORLD, MPI_STATUS_IGNORE);
            EXPECT(got[0] == 2 && got[1] == 3);
        }
    }
    if (is_first()) MPI_Request_free(&request);
    MPI_Type_free(&inner);
}

/* Every receive is posted before the first message is sent, or every message arrives before the first receive. */
static void many(int count, int are_expected) {
    int *values = malloc(count * sizeof(int));
    MPI_Request *requests = malloc(count * sizeof(MPI_Request));

    for (int at = 0; at < count; at++) {
        requests[at] = MPI_REQUEST_NULL;
        values[at] = is_first() ? at : -1;
    }
    for (int at = 0; is_second() && are_expected && at < count; at++)
        MPI_Irecv(&values[at], 1, MPI_INT, 0, at % 1000, WORLD, &requests[at]);
    MPI_Barrier(WORLD);
    for (int at = 0; is_first() && at < count; at++)
        MPI_Isend(&values[at], 1, MPI_INT, 1, at % 1000, WORLD, &requests[at]);
    MPI_Barrier(WORLD);
    for (int at = 0; is_second() && !are_expected && at < count; at++)
        MPI_Irecv(&values[at], 1, MPI_INT, 0, at % 1000, WORLD, &requests[at]);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    EXPECT(rank > 1 || is_filled(values, count, 0));
    free(values);
    free(requests);
}

static void many_expected(void) { many(20000, 1); }
static void many_unexpected(void) { many(20000, 0); }

static void flood_of_large(void) {
    enum { MANY = 40 };
    MPI_Request requests[MANY];
    int *data = malloc((size_t)MANY * 20000 * sizeof(int));

    for (int at = 0; at < MANY; at++) {
        requests[at] = MPI_REQUEST_NULL;
        fill(data + at * 20000, 20000, at);
        if (is_first()) MPI_Isend(data + at * 20000, 20000, MPI_INT, 1, at, WORLD, &requests[at]);
    }
    for (int at = MANY - 1; is_second() && at >= 0; at--) {
        MPI_Recv(data, 20000, MPI_INT, 0, at, WORLD, MPI_STATUS_IGNORE);
        EXPECT(is_filled(data, 20000, at));
    }
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    free(data);
}

static void wait_any(void) {
    int values[3] = {0, 0, 0}, index, seen = 0;
    MPI_Request requests[3];

    for (int at = 0; at < 3; at++) {
        if (is_first()) MPI_Send(&at, 1, MPI_INT, 1, at, WORLD);
        if (is_second()) MPI_Irecv(&values[at], 1, MPI_INT, 0, at, WORLD, &requests[at]);
    }
    for (int at = 0; is_second() && at < 3; at++) {
        MPI_Waitany(3, requests, &index, MPI_STATUS_IGNORE);
        EXPECT(values[index] == index);
        seen |= 1 << index;
    }
    EXPECT(rank != 1 || seen == 7);
}

static void wait_some(void) {
    int values[3] = {0, 0, 0}, indices[3], count, total = 0;
    MPI_Request requests[3];

    for (int at = 0; at < 3; at++) {
        if (is_first()) MPI_Send(&at, 1, MPI_INT, 1, at, WORLD);
        if (is_second()) MPI_Irecv(&values[at], 1, MPI_INT, 0, at, WORLD, &requests[at]);
    }
    while (is_second() && total < 3) {
        MPI_Waitsome(3, requests, &count, indices, MPI_STATUSES_IGNORE);
        total += count;
    }
    EXPECT(rank != 1 || (values[1] == 1 && values[2] == 2));
}

static void test_in_a_loop(void) {
    int value = 6, is_done = 0;
    MPI_Request request;

    if (is_first()) MPI_Send(&value, 1, MPI_INT, 1, 3, WORLD);
    if (is_second()) {
        value = 0;
        MPI_Irecv(&value, 1, MPI_INT, 0, 3, WORLD, &request);
        while (!is_done) MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
        EXPECT(value == 6);
    }
}

static void status_without_freeing(void) {
    int value = 6, is_done = 0;
    MPI_Request request;

    if (is_first()) MPI_Send(&value, 1, MPI_INT, 1, 3, WORLD);
    if (is_second()) {
        MPI_Irecv(&value, 1, MPI_INT, 0, 3, WORLD, &request);
        while (!is_done) MPI_Request_get_status(request, &is_done, MPI_STATUS_IGNORE);
        EXPECT(request != MPI_REQUEST_NULL);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void freed_request_still_sends(void) {
    int value = 12;
    MPI_Request request;

    if (is_first()) {
        MPI_Isend(&value, 1, MPI_INT, 1, 3, WORLD, &request);
        MPI_Request_free(&request);
        EXPECT(request == MPI_REQUEST_NULL);
    }
    if (is_second()) {
        value = 0;
        MPI_Recv(&value, 1, MPI_INT, 0, 3, WORLD, MPI_STATUS_IGNORE);
        EXPECT(value == 12);
    }
    MPI_Barrier(WORLD);
}

static void wait_for_the_clock(void) {
    double start = MPI_Wtime();

    while (MPI_Wtime() - start < 2.0);
    EXPECT(MPI_Wtime() - start >= 2.0);
}

/* The first rank offers a port; the second one, which learned its name by a message, connects. */
static void connect_by_port(void) {
    char port[MPI_MAX_PORT_NAME];
    int value = 5, got = -1;
    MPI_Comm both;

    if (is_first()) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, 1, 1, WORLD);
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &both);
    } else if (is_second()) {
        MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 1, WORLD, MPI_STATUS_IGNORE);
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &both);
    }
    if (rank < 2) {
        MPI_Sendrecv(&value, 1, MPI_INT, 0, 2, &got, 1, MPI_INT, 0, 2, both, MPI_STATUS_IGNORE);
        EXPECT(got == 5);
        MPI_Comm_disconnect(&both);
    }
    if (is_first()) MPI_Close_port(port);
}

int main(int argc, char **argv) {
    static const struct check checks[] = {
        {"standard empty", standard_empty},
        {"standard short", standard_short},
        {"standard eager", standard_eager},
        {"standard large", standard_large},
        {"synchronous empty", synchronous_empty},
        {"synchronous short", synchronous_short},
        {"synchronous eager", synchronous_eager},
        {"synchronous large", synchronous_large},
        {"buffered short", buffered_short},
        {"buffered eager", buffered_eager},
        {"buffered large", buffered_large},
        {"ready", ready},
        {"ready started", ready_started},
        {"started short", started_short},
        {"started large", started_large},
        {"started synchronous short", started_synchronous_short},
        {"started synchronous large", started_synchronous_large},
        {"synchronous waits", synchronous_waits},
        {"to oneself", to_oneself},
        {"to proc null", to_proc_null},
        {"exchange", exchange},
        {"exchange in place", exchange_in_place},
        {"order is kept", order_is_kept},
        {"tags choose", tags_choose},
        {"largest tag", largest_tag},
        {"from any source", from_any_source},
        {"probe describes", probe_tells},
        {"probe finds none", probe_finds_none},
        {"matched short", matched_short},
        {"matched large", matched_large},
        {"matched synchronous", matched_synchronous},
        {"matched synchronous large", matched_synchronous_large},
        {"matched started", matched_started},
        {"matched with gaps", matched_with_gaps},
        {"matched none", matched_none},
        {"matched is out of reach", matched_is_out_of_reach},
        {"cancel receive", cancel_receive},
        {"cancel received", cancel_received},
        {"cancel send", cancel_send},
        {"cancel large send", cancel_large_send},
        {"cancel synchronous send", cancel_synchronous_send},
        {"cancel many receives", cancel_many_receives},
        {"persistent short", persistent_short},
        {"persistent large", persistent_large},
        {"persistent synchronous", persistent_synchronous},
        {"persistent with offset", persistent_with_offset},
        {"many expected", many_expected},
        {"many unexpected", many_unexpected},
        {"flood of large", flood_of_large},
        {"wait any", wait_any},
        {"wait some", wait_some},
        {"test in a loop", test_in_a_loop},
        {"status without freeing", status_without_freeing},
        {"freed request still sends", freed_request_still_sends},
        {"wait for the clock", wait_for_the_clock},
        {"connect by port", connect_by_port},
    };

    start(&argc, &argv);
    run_checks("messages", checks, LENGTH(checks));
    MPI_Finalize();
    return failed;
}
