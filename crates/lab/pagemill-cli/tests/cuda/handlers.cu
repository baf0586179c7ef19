// Handlers for SIGSEGV that come after the first managed allocation.
#include <csetjmp>
#include <csignal>
#include <cstdio>

static const int count = 4096;
static sigjmp_buf back;
static volatile int own_faults;

__global__ void add_one(int *values) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] += 1;
}

static void with_information(int, siginfo_t *information, void *) {
    own_faults += information->si_addr == (void *)64;
    siglongjmp(back, 1);
}

static void plain(int signal) {
    own_faults += signal == SIGSEGV;
    siglongjmp(back, 1);
}

static void crash() {
    if (sigsetjmp(back, 1) == 0) *(volatile int *)64 = 1;
}

/// Values that are not what `launches` kernels have made of them; the CPU's touches bring the pages back.
static int wrong(const int *values, int launches) {
    int wrong = 0;
    for (int i = 0; i < count; i++) wrong += values[i] != i + launches;
    return wrong;
}

int main() {
    int *values;
    cudaMallocManaged(&values, count * sizeof(int));
    for (int i = 0; i < count; i++) values[i] = i;
    add_one<<<count / 128, 128>>>(values);
    cudaDeviceSynchronize();

    int old_wrong = 0;
    struct sigaction action = {}, old = {};
    action.sa_sigaction = with_information;
    action.sa_flags = SA_SIGINFO;
    sigaddset(&action.sa_mask, SIGUSR1);
    sigaction(SIGSEGV, &action, &old);
    old_wrong += old.sa_handler != SIG_DFL;
    int values_wrong = wrong(values, 1);
    crash();
    crash();

    add_one<<<count / 128, 128>>>(values);
    cudaDeviceSynchronize();
    old_wrong += signal(SIGSEGV, plain) != (void (*)(int))with_information;
    values_wrong += wrong(values, 2);
    crash();
    sigaction(SIGSEGV, &action, &old);
    old_wrong += old.sa_handler != plain || !(old.sa_flags & SA_RESTART) || !sigismember(&old.sa_mask, SIGSEGV);
    sigaction(SIGSEGV, nullptr, &old);
    old_wrong += old.sa_sigaction != with_information || !sigismember(&old.sa_mask, SIGUSR1);
    old_wrong += signal(SIGUSR1, plain) != SIG_DFL || signal(SIGUSR1, SIG_DFL) != plain;
    add_one<<<count / 128, 128>>>(values);
    cudaDeviceSynchronize();
    values_wrong += wrong(values, 3);
    printf("own faults %d, old handlers wrong %d, values wrong %d\n", own_faults, old_wrong, values_wrong);
    return values_wrong != 0;
}
