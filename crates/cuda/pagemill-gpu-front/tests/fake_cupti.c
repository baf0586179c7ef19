/* A stand-in for CUPTI, with records of the sizes that the headers of each version give them. It is strict where CUPTI is, and says on
 * standard error what a caller did wrong.
 *
 * FAKE_CUPTI_VERSION: what cuptiGetVersion says, otherwise DEFAULT_VERSION, when compiled with it.
 * FAKE_CUPTI_FAIL: the call that fails, by name, or "cuptiActivityEnable of kind N".
 * FAKE_CUPTI_ROUNDS: how often its records are delivered; 1.
 * FAKE_CUPTI_CUT: bytes that are not in use at the end of a buffer, though a record is there.
 * FAKE_CUPTI_HOARD: buffers are asked for until there are no more, and kept.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, INVALID_OPERATION = 7, MAX_LIMIT_REACHED = 12, INVALID_KIND = 21, NO_PRIVILEGES = 35 };
enum { COPY = 1, FILL = 2, KERNEL = 10, MANAGED = 25, STRANGE = 49 };

#ifndef DEFAULT_VERSION
#define DEFAULT_VERSION 24
#endif

#define RECORD __attribute__((packed, aligned(8)))

/* What follows the last field here is 0xEE, up to the size of the version. */
struct RECORD kernel {
    uint32_t kind;
    uint8_t cache, shared;
    uint16_t registers;
    uint32_t caching[2];
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3], shared_bytes[2];
    uint32_t local_bytes[2], correlation;
    int64_t id;
    const char *name;
};

struct RECORD managed {
    uint32_t kind, counter;
    uint64_t value, start, end, address;
    uint32_t from, to, stream, process, flags, unused;
};

struct RECORD copy {
    uint32_t kind;
    uint8_t between, from, to, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
};

struct RECORD fill {
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
};

typedef void (*request)(uint8_t **, size_t *, size_t *);
typedef void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t);

static request ask;
static complete give;
static int is_enabled[64], is_configured;
static size_t dropped;

static uint8_t *buffer;
static size_t buffer_bytes, used;

static long setting(const char *name, long otherwise) {
    const char *set = getenv(name);
    return set ? atol(set) : otherwise;
}

static long version(void) { return setting("FAKE_CUPTI_VERSION", DEFAULT_VERSION); }

static int fails(const char *call) {
    const char *set = getenv("FAKE_CUPTI_FAIL");
    return set && !strcmp(set, call);
}

static int complain(const char *what) {
    fprintf(stderr, "fake CUPTI: %s\n", what);
    return INVALID_OPERATION;
}

/* sizeof of the structures in cupti_activity.h. */
static size_t record_bytes(uint32_t kind) {
    switch (kind) {
    case KERNEL:
        return version() < 130000   ? 208
               : version() < 130100 ? 216
               : version() < 130300 ? 224
               : version() < 130400 ? 232
                                    : 248;
    case MANAGED:
        return version() < 26 ? 64 : 104;
    case COPY:
        return version() < 26 ? 88 : version() < 130400 ? 96 : 112;
    case FILL:
        return version() < 130400 ? 88 : 104;
    }
    return 24;
}

static void deliver(void) {
    if (buffer) give(NULL, 0, buffer, buffer_bytes, used - (size_t)setting("FAKE_CUPTI_CUT", 0));
    buffer = NULL;
}

static void put(const void *record, size_t fields) {
    uint32_t kind;
    memcpy(&kind, record, sizeof kind);
    if (kind != STRANGE && !is_enabled[kind]) return;
    if (buffer && used + record_bytes(kind) > buffer_bytes) deliver();
    if (!buffer) {
        size_t most = 1;
        used = 0;
        ask(&buffer, &buffer_bytes, &most);
        if (!buffer || most || (uintptr_t)buffer % 8) {
            complain("a buffer");
            return;
        }
    }
    memset(buffer + used, 0xEE, record_bytes(kind));
    memcpy(buffer + used, record, fields);
    used += record_bytes(kind);
}

#define PUT(...) put(&(__VA_ARGS__), sizeof(__VA_ARGS__))

static void round_of_records(void) {
    static const char name[] = "_Z3addPfS_i";
    PUT((struct kernel){
        KERNEL, 1, 2, 40, {3, 4}, 1000, 2000, 2001, 5, 6, 7, {80, 2, 1}, {256, 4, 3}, {8, 9}, {10, 11}, 12, 13, name});
    PUT((struct managed){MANAGED, 1, 65536, 1100, 1200, 0x7f0000010000, 14, 15, 16, 17, 2, 18});
    PUT((struct managed){MANAGED, 2, 2097152, 1300, 1400, 0x7f0000200000, 15, 14, 16, 17, 4, 18});
    PUT((struct managed){MANAGED, 4, 19, 1050, 1250, 0x7f0000012000, 15, 14, 16, 17, 2, 18});
    PUT((struct managed){MANAGED, 3, 0x400123, 2500, 77, 0x7f0000013000, 15, 14, 16, 17, 1, 18});
    PUT((struct managed){MANAGED, 5, 4096, 2600, 77, 0x7f0000013000, 3, 14, 16, 17, 0, 18});
    PUT((struct managed){MANAGED, 6, 0, 2700, 2800, 0x7f0000013000, 3, 14, 16, 17, 0, 18});
    PUT((struct managed){MANAGED, 6, 0, 2900, 2950, 0x7f0000013000, 3, 14, 16, 17, 0, 18});
    PUT((struct managed){MANAGED, 7, 4096, 3000, 77, 0x7f0000013000, 3, 14, 16, 17, 2, 18});
    uint32_t strange[] = {STRANGE, 1};
    put(strange, sizeof strange);
    PUT((struct copy){COPY, 1, 20, 21, 22, 300, 3100, 3200, 5, 6, 7, 23});
    PUT((struct copy){COPY, 3, 20, 21, 22, 301, 3300, 3400, 5, 6, 7, 24});
    PUT((struct fill){FILL, 0, 302, 3500, 3600, 5, 6, 7, 25});
    PUT((struct kernel){
        KERNEL, 1, 2, 41, {3, 4}, 0, 0, 0, 5, 6, 26, {1, 1, 1}, {32, 1, 1}, {8, 9}, {10, 11}, 27, 28, name});
}

int cuptiGetVersion(uint32_t *to) {
    *to = (uint32_t)version();
    return fails("cuptiGetVersion") ? NO_PRIVILEGES : SUCCESS;
}

int cuptiGetResultString(int code, const char **text) {
    *text = code == NO_PRIVILEGES ? "NO_PRIVILEGES" : NULL;
    return SUCCESS;
}

#ifndef WITHOUT_MESSAGE
int cuptiGetErrorMessage(int code, const char **text) {
    *text = code == INVALID_KIND ? "a message" : NULL;
    return SUCCESS;
}
#endif

int cuptiActivityRegisterCallbacks(request requested, complete completed) {
    if (fails("cuptiActivityRegisterCallbacks")) return NO_PRIVILEGES;
    ask = requested;
    give = completed;
    return SUCCESS;
}

int cuptiActivityConfigureUnifiedMemoryCounter(const uint32_t (*config)[4], uint32_t count) {
    if (fails("cuptiActivityConfigureUnifiedMemoryCounter")) return NO_PRIVILEGES;
    for (uint32_t i = 0; i < count; i++)
        if (config[i][0] != 2 || config[i][1] < 1 || config[i][1] > 7 || config[i][3] != 1)
            return complain("a configuration");
    is_configured = 1;
    return SUCCESS;
}

int cuptiActivityEnable(uint32_t kind) {
    char call[64];
    snprintf(call, sizeof call, "cuptiActivityEnable of kind %u", kind);
    if (fails(call)) return NO_PRIVILEGES;
    if (kind == MANAGED && !is_configured) return complain("managed memory without a configuration");
    if (!ask) return complain("records without buffers");
    is_enabled[kind] = 1;
    return SUCCESS;
}

int cuptiActivityGetNextRecord(uint8_t *from, size_t bytes, uint8_t **record) {
    uint8_t *next = *record ? *record + record_bytes(*(uint32_t *)*record) : from;
    if (fails("cuptiActivityGetNextRecord") && *record) return INVALID_KIND;
    if (next >= from + bytes) return MAX_LIMIT_REACHED;
    *record = next;
    return SUCCESS;
}

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *to) {
    if (fails("cuptiActivityGetNumDroppedRecords")) return NO_PRIVILEGES;
    *to = context || stream ? 0 : dropped;
    dropped = 0;
    return SUCCESS;
}

int cuptiActivityFlushAll(uint32_t flags) {
    if (!ask || flags != 1) return complain("a flush");
    /* Of another user of CUPTI, in static memory: free() aborts. */
    static uint64_t foreign[4] = {FILL};
    give(NULL, 0, (uint8_t *)foreign, sizeof foreign, sizeof foreign);
    for (size_t most; setting("FAKE_CUPTI_HOARD", 0); dropped++) {
        ask(&buffer, &buffer_bytes, &most);
        if (!buffer) return SUCCESS;
    }
    for (long i = 0; i < setting("FAKE_CUPTI_ROUNDS", 1); i++) round_of_records();
    deliver();
    return fails("cuptiActivityFlushAll") ? NO_PRIVILEGES : SUCCESS;
}

__attribute__((destructor)) static void end(void) {
    size_t most;
    if (ask) ask(&buffer, &buffer_bytes, &most);
    if (ask && buffer) complain("a buffer after the end");
}
