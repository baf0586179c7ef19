/* CPU time of a ping-pong message: arguments are round trips (20000) and bytes (8). Rank 0 prints the sum over both ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static double cpu_us(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 + used.ru_utime.tv_usec + used.ru_stime.tv_usec;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 20000, bytes = argc > 2 ? atoi(argv[2]) : 8, rank;
	char *data = calloc(bytes + 1, 1);
	double virtual_s, own_us, all_us;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Barrier(MPI_COMM_WORLD);
	own_us = cpu_us();
	virtual_s = MPI_Wtime();
	for (int round = 0; round < rounds; round++) {
		if (rank == 0)
			MPI_Send(data, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
		MPI_Recv(data, bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (rank == 1)
			MPI_Send(data, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
	}
	virtual_s = MPI_Wtime() - virtual_s;
	own_us = cpu_us() - own_us;
	MPI_Reduce(&own_us, &all_us, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("%.6f us of virtual time and %.2f us of CPU time a message\n", virtual_s * 1e6 / 2 / rounds, all_us / 2 / rounds);
	MPI_Finalize();
	return 0;
}
