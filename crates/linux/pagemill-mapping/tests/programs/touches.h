/* A part of memory_calls.c: touches that may give a signal. A signal of anything else says what it is before it ends the program. */

static sigjmp_buf out;
static volatile sig_atomic_t is_touching;
static const char *call;

/* The line of /proc/self/maps with an address. No call here allocates or locks: the signal may have come in one that does. */
static void say_mapping(uintptr_t address) {
    static char text[1 << 18];
    int file = open("/proc/self/maps", O_RDONLY);
    size_t size = 0;
    ssize_t got;

    while (size < sizeof(text) - 1 && (got = read(file, text + size, sizeof(text) - 1 - size)) > 0) size += got;
    for (char *line = text, *end; *line; line = end + 1) {
        char *middle;
        uintptr_t from = strtoul(line, &middle, 16);

        if (!(end = strchr(line, '\n'))) break;
        if (from <= address && address < strtoul(middle + 1, NULL, 16)) dprintf(1, "%.*s\n", (int)(end - line), line);
    }
}

/* Codes: 1 nothing is mapped there, 2 access is refused, 128 the kernel, -1 the pager, 0 or -6 a process. */
static void on_signal(int number, siginfo_t *info, void *context) {
    uintptr_t by = 0;

    if (is_touching) siglongjmp(out, number);
#ifdef REG_RIP
    by = ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#endif
    (void)context;
    dprintf(1, "\n\"%s\" got signal %d, code %d, address %p, by the code at %#lx:\n", call, number, info->si_code,
            info->si_addr, (unsigned long)by);
    say_mapping((uintptr_t)info->si_addr);
    say_mapping(by);
    signal(number, SIG_DFL);
    raise(number);
}

static void take_signals(const char *name) {
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};

    call = name;
    sigaction(SIGSEGV, &action, NULL), sigaction(SIGBUS, &action, NULL);
}

/* The byte there, or the signal that reading it gives, negative. */
static int at(const char *place) {
    int number = sigsetjmp(out, 1), found = 0;

    is_touching = !number;
    if (!number) found = *(volatile const unsigned char *)place;
    is_touching = 0;
    return number ? -number : found;
}

static int put(char *place, char value) {
    int number = sigsetjmp(out, 1);

    is_touching = !number;
    if (!number) *(volatile char *)place = value;
    is_touching = 0;
    return number;
}
