// arch: compute_75
// Lanes of one warp that wait for each other, and masks that meet by value.
#include "common.cuh"

// Every lane takes the lock for itself, one after the other.
extern "C" __global__ void spin_lock(u32 *lock, volatile u32 *count, u32 *order) {
    for (u32 times = 0; times < 3; ++times) {
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        __threadfence();
        u32 ticket = *count;
        *count = ticket + 1;
        order[ticket] = threadIdx.x;
        __threadfence();
        atomicExch(lock, 0);
    }
}

// The same with the number of attempts kept in a register: no lane is ever where it was before.
extern "C" __global__ void counted_lock(u32 *lock, volatile u32 *count, u32 *attempts) {
    u32 failed = 0;
    while (atomicCAS(lock, 0, 1) != 0) ++failed;
    *count = *count + 1;
    __threadfence();
    atomicExch(lock, 0);
    attempts[threadIdx.x] = failed;
}

// Lanes serve in the order of their tickets, the highest lane first.
extern "C" __global__ void ticket_lock(volatile u32 *serving, u32 *out) {
    u32 ticket = 31 - threadIdx.x;
    while (*serving != ticket) {
    }
    out[ticket] = threadIdx.x;
    __threadfence();
    *serving = ticket + 1;
}

// Even lanes make values for the odd lanes beside them, through one cell each.
extern "C" __global__ void producers(volatile u32 *cells, u32 *sums) {
    u32 t = threadIdx.x, pair = t / 2, sum = 0;
    if (t % 2 == 0) {
        for (u32 value = 1; value <= 20; ++value) {
            while (cells[pair] != 0) {
            }
            cells[pair] = value * (pair + 1);
        }
    } else {
        for (u32 taken = 0; taken < 20; ++taken) {
            u32 value;
            while ((value = cells[pair]) == 0) {
            }
            sum += value;
            cells[pair] = 0;
        }
    }
    sums[t] = sum;
}

// Lane 0 waits for the last lane of the block, which waits for lane 0.
extern "C" __global__ void there_and_back(volatile u32 *flags) {
    if (threadIdx.x == 0) {
        flags[0] = 1;
        while (flags[1] == 0) {
        }
        flags[2] = 7;
    } else if (threadIdx.x == blockDim.x - 1) {
        while (flags[0] == 0) {
        }
        flags[1] = 1;
    }
}

// One mask, named in both branches: the lanes meet, and memory is seen.
extern "C" __global__ void meet_in_branches(u32 *out) {
    __shared__ volatile u32 cells[32];
    u32 t = threadIdx.x;
    if (t < 12) {
        cells[t] = t + 100;
        __syncwarp(0xFFFFFFFF);
        out[t] = cells[t + 20];
        __syncwarp(0xFFFFFFFF);
    } else {
        cells[t] = t + 200;
        __syncwarp(0xFFFFFFFF);
        out[t] = cells[31 - t];
        __syncwarp(0xFFFFFFFF);
    }
}

// Shuffles and votes of one mask at two places.
extern "C" __global__ void exchange_in_branches(u32 *out) {
    u32 t = threadIdx.x, value, votes, all;
    if (t % 3 == 0) {
        value = __shfl_xor_sync(0xFFFFFFFF, t * 10, 1);
        votes = __ballot_sync(0xFFFFFFFF, t > 20);
        all = __match_any_sync(0xFFFFFFFF, t % 4);
    } else {
        value = __shfl_xor_sync(0xFFFFFFFF, t * 1000, 1);
        votes = __ballot_sync(0xFFFFFFFF, t < 5);
        all = __match_any_sync(0xFFFFFFFF, t % 4);
    }
    out[t] = value;
    out[32 + t] = votes;
    out[64 + t] = all;
}

// Lanes that have ended, or never were, are not waited for.
extern "C" __global__ void after_return(u32 *out, u32 n) {
    u32 t = threadIdx.x;
    if (t >= n) return;
    u32 sum = t + 1;
    for (u32 step = 16; step > 0; step /= 2) {
        u32 other = __shfl_down_sync(0xFFFFFFFF, sum, step);
        if (t + step < n) sum += other;
    }
    __syncwarp();
    out[t] = sum;
    out[64 + t] = __ballot_sync(0xFFFFFFFF, 1);
}

// Lanes that wait for one that ends elsewhere.
extern "C" __global__ void end_elsewhere(u32 *out) {
    u32 t = threadIdx.x;
    if (t == 5) {
        out[5] = 77;
        asm volatile("exit;");
    }
    if (t != 6) {
        out[t] = __ballot_sync(0xFFFFFFFF, t & 1);
    } else {
        out[t] = 1000 + __ballot_sync(0xFFFFFFFF, 1);
    }
}

// After lanes went their own ways they are one warp again, also at a barrier of the block.
extern "C" __global__ void together_again(u32 *lock, u32 *out) {
    __shared__ u32 total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    total += threadIdx.x;
    __threadfence();
    atomicExch(lock, 0);
    __syncthreads();
    out[threadIdx.x] = total;
    out[64 + threadIdx.x] = __popc(__activemask());
}

// A lane of the mask waits elsewhere, for one that waits for it.
extern "C" __global__ void never_come(u32 *out) {
    if (threadIdx.x == 3)
        __syncwarp(0x88);
    else
        __syncwarp(0xFFFFFFFF);
    out[threadIdx.x] = 1;
}

// Loops that never end: one reads nothing, the other reads memory that is never written.
extern "C" __global__ void endless() {
    asm volatile("{ L: bra L; }");
}

extern "C" __global__ void endless_in_one_lane(u32 *out) {
    out[threadIdx.x] = 1;
    if (threadIdx.x == 9) asm volatile("{ L: bra L; }");
    out[threadIdx.x] = 2;
}

// A shuffle that reads from a lane outside of its mask.
extern "C" __global__ void stray_shuffle(u32 *out) {
    u32 t = threadIdx.x;
    if (t < 8) out[t] = __shfl_down_sync(0xFF, t, 4);
}
