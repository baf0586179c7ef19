/* One-way latency: a message goes there and back. Prints bytes and microseconds, then a check of the bytes. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 20, BYTES_MAX = 1 << 20 };

int main(int argc, char **argv)
{
	int rank, size;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (size != 2)
		MPI_Abort(MPI_COMM_WORLD, 2);
	unsigned char *out = malloc(BYTES_MAX), *in = malloc(BYTES_MAX);
	for (int bytes = 0; bytes <= BYTES_MAX; bytes = bytes ? bytes * 4 : 1) {
		MPI_Barrier(MPI_COMM_WORLD);
		double start = MPI_Wtime();
		for (int round = 0; round < ROUNDS; round++) {
			memset(out, round + bytes, bytes);
			memset(in, 0xee, bytes);
			if (rank == 0) {
				MPI_Send(out, bytes, MPI_BYTE, 1, round, MPI_COMM_WORLD);
				MPI_Recv(in, bytes, MPI_BYTE, 1, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			} else {
				MPI_Recv(in, bytes, MPI_BYTE, 0, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
				MPI_Send(out, bytes, MPI_BYTE, 0, round, MPI_COMM_WORLD);
			}
			if (memcmp(in, out, bytes)) {
				fprintf(stderr, "rank %d: wrong bytes of %d in round %d\n", rank, bytes, round);
				MPI_Abort(MPI_COMM_WORLD, 1);
			}
		}
		double seconds = MPI_Wtime() - start;
		if (rank == 0)
			printf("%d %.6f\n", bytes, seconds / ROUNDS / 2 * 1e6);
	}
	free(out);
	free(in);
	MPI_Finalize();
	return 0;
}
