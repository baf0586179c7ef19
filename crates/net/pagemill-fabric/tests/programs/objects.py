"""Point-to-point and collectives of mpi4py: objects and buffers. Every rank checks what it gets and prints its time."""

import array

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
right, left = (rank + 1) % size, (rank - 1) % size

assert world.sendrecv({"from": rank}, dest=right, source=left) == {"from": left}
request = world.isend(list(range(rank * 1000)), dest=right, tag=3)
assert world.recv(source=left, tag=3) == list(range(left * 1000))
request.wait()
assert world.allgather("x" * rank) == ["x" * other for other in range(size)]
assert world.alltoall([(rank, other) for other in range(size)]) == [(other, rank) for other in range(size)]
assert world.allreduce(rank + 1) == size * (size + 1) // 2
assert world.bcast("word" if rank == 0 else None) == "word"
assert world.scatter([other**2 for other in range(size)] if rank == 0 else None) == rank**2
gathered = world.gather(rank)
assert gathered == (list(range(size)) if rank == 0 else None)
if rank == 0:
    assert sorted(world.recv(source=MPI.ANY_SOURCE) for _ in range(size - 1)) == list(range(1, size))
else:
    world.send(rank, dest=0)
world.Barrier()

for count in 1, 100, 50_000:
    mine, theirs = array.array("d", [rank + 0.5] * count), array.array("d", [0.0] * count)
    world.Sendrecv(mine, dest=right, recvbuf=theirs, source=left)
    assert theirs == array.array("d", [left + 0.5] * count)
    world.Allreduce(mine, theirs)
    assert theirs[-1] == sum(other + 0.5 for other in range(size))

status = MPI.Status()
if rank == 0:
    for _ in range(size - 1):
        world.Probe(status=status)
        data = bytearray(status.Get_count(MPI.BYTE))
        world.Recv(data, source=status.Get_source())
        assert data == bytes([status.Get_source()] * 10 * status.Get_source())
else:
    world.Send(bytes([rank] * 10 * rank), dest=0)
world.Barrier()

half = world.Split(rank % 2, rank)
assert half.allreduce(rank, op=MPI.MAX) % 2 == rank % 2
world.Barrier()
print(f"rank {rank} at {MPI.Wtime() * 1e9:.3f} ns", flush=True)
