// Makes a window in each way that goes over messages, for the thread level of the first argument; prints the class of each error.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    int is_multiple = argc > 1 && strcmp(argv[1], "multiple") == 0;
    int rank, provided, level = is_multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED;
    MPI_Init_thread(&argc, &argv, level, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    static char memory[64];
    void *base;
    for (int way = 0; way < 3; way++) {
        MPI_Win window = MPI_WIN_NULL;
        int error = way == 0   ? MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window)
                    : way == 1 ? MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window)
                               : MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
        int class = MPI_SUCCESS;
        if (error != MPI_SUCCESS)
            MPI_Error_class(error, &class);
        else
            MPI_Win_free(&window);
        const char *told = class == MPI_SUCCESS ? "made" : class == MPI_ERR_WIN ? "refused" : "failed";
        printf("rank %d, way %d: %s\n", rank, way, told);
    }
    MPI_Finalize();
    return 0;
}
