/* A part of memory_calls.c: the kernel moves pages, or writes to memory that may be away. */

static void copy_into_untouched(long number) {
    (void)number;
    char *to = fresh(SIZE);
    int file = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    struct uffdio_api api = {.api = UFFD_API};
    struct uffdio_register all = {.range = {(uintptr_t)to, SIZE}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    struct uffdio_copy copy = {.dst = (uintptr_t)to, .src = (uintptr_t)p, .len = SIZE};

    ioctl(file, UFFDIO_API, &api);
    printf("%s, ", told(ioctl(file, UFFDIO_REGISTER, &all)));
    printf("%s, ", told(ioctl(file, UFFDIO_COPY, &copy)));
    printf("copied %lld, ", (long long)copy.copy);
    close(file);
    printf("wrong %d\n", wrong(to, 0, SIZE));
}

/* Pages leave paged memory, some of which is away. */
static void move_away(long number) {
    (void)number;
    struct move {
        uint64_t to, from, bytes, mode;
        int64_t moved;
    };
    char *to = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int file = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    struct uffdio_api api = {.api = UFFD_API, .features = 1 << 16};
    struct uffdio_register all = {.range = {(uintptr_t)to, SIZE}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    struct move move = {.to = (uintptr_t)to, .from = (uintptr_t)p, .bytes = SIZE};

    ioctl(file, UFFDIO_API, &api);
    printf("%s, ", told(ioctl(file, UFFDIO_REGISTER, &all)));
    printf("%s, ", told(ioctl(file, _IOWR(0xAA, 5, struct move), &move)));
    printf("moved %lld, ", (long long)move.moved);
    ioctl(file, UFFDIO_UNREGISTER, &all.range);
    close(file);
    printf("wrong %d\n", wrong(to, 0, SIZE));
}

/* The kernel writes a child's number into memory while it copies the process. */
static void number_of_child(long number) {
    (void)number;
    pid_t *place = (pid_t *)(p + PAGE);
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD | CLONE_PARENT_SETTID, 0, place, 0, 0);
    if (child == 0) _exit(0);
    printf("number %d, ", *place == child);
    printf("child %d\n", waitpid(child, NULL, 0) == child);
}
