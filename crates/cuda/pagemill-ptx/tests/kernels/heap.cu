// arch: compute_75
// The heap of kernels: malloc and free, new and delete, lists that threads build, objects with virtual destructors, what is
// there when it is full.
#include "common.cuh"

struct Node {
    u32 value;
    Node *next;
};

// Each thread builds a list, walks it backwards into `out`, and frees every other node on the way.
extern "C" __global__ void heap_lists(const u32 *in, u32 *out, u32 rounds) {
    u32 t = threadIdx.x + blockIdx.x * blockDim.x;
    u32 hash = 17;
    for (u32 round = 0; round < rounds; round++) {
        Node *head = nullptr;
        u32 count = in[t] % 7 + round % 2;
        for (u32 i = 0; i < count; i++) head = new Node{in[t] + i + round, head};
        for (Node *node = head; node;) {
            hash = hash * 31 + node->value;
            Node *next = node->next;
            delete node;
            node = next;
        }
    }
    out[t] = hash;
}

// Memory outlives the kernel: one fills, another reads and frees.
extern "C" __global__ void heap_fill(const u32 *in, u64 *places) {
    u32 t = threadIdx.x, count = t % 5 + 1;
    u32 *mine = (u32 *)malloc(count * sizeof(u32));
    for (u32 i = 0; i < count; i++) mine[i] = in[t] * (i + 1);
    places[t] = (u64)mine;
}
extern "C" __global__ void drain(const u64 *places, u32 *out) {
    u32 t = threadIdx.x, count = t % 5 + 1, sum = 0;
    u32 *other = (u32 *)places[t];
    for (u32 i = 0; i < count; i++) sum += other[i];
    out[t] = sum;
    free(other);
    free(nullptr);
}

struct Base {
    u32 *log;
    __device__ Base(u32 *log) : log(log) { atomicAdd(log, 1); }
    __device__ virtual ~Base() { atomicAdd(log, 100); }
    __device__ virtual u32 name() const { return 1; }
};
struct Derived : Base {
    u32 *data;
    __device__ Derived(u32 *log, u32 size) : Base(log), data(new u32[size]) {
        for (u32 i = 0; i < size; i++) data[i] = i * i;
    }
    __device__ ~Derived() override {
        delete[] data;
        atomicAdd(log, 10000);
    }
    __device__ u32 name() const override { return data[3]; }
};
extern "C" __global__ void objects(u32 *out, u32 *log) {
    u32 t = threadIdx.x;
    Base *object = t % 3 == 0 ? new Base(log) : new Derived(log, t + 4);
    out[t] = object->name();
    delete object;
}

// How many blocks of that size there are, and that they do not overlap; everything is given back.
extern "C" __global__ void exhaust(u32 *out, u32 bytes) {
    const u32 most = 64;
    char *held[most];
    u32 count = 0;
    while (count < most && (held[count] = (char *)malloc(bytes))) {
        held[count][0] = (char)count;
        held[count][bytes - 1] = (char)~count;
        count++;
    }
    u32 wrong = 0;
    for (u32 i = 0; i < count; i++) {
        wrong += held[i][0] != (char)i || held[i][bytes - 1] != (char)~i || (u64)held[i] % 16 != 0;
        free(held[i]);
    }
    out[0] = count;
    out[1] = wrong;
    out[2] = malloc(0) == nullptr;
}

extern "C" __global__ void free_twice(u32 *out) {
    char *mine = (char *)malloc(100);
    if (threadIdx.x == 3) free(mine + out[0]);
    free(mine);
}
