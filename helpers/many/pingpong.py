"""How long a message takes between two MPI ranks. Rank 0 prints [bytes, seconds] of a short one and of a long one."""

import json
from time import perf_counter

import numpy as np

ROUNDS = 200


def ping_pong(world, size, rounds=ROUNDS):
    """Seconds that a message of so many bytes takes one way: half of the fastest there and back."""
    message, best = np.zeros(size, np.uint8), float("inf")
    for _ in range(rounds):
        world.Barrier()
        start = perf_counter()
        for sender in (0, 1):
            if world.rank == sender:
                world.Send(message, dest=1 - sender)
            else:
                world.Recv(message, source=sender)
        best = min(best, (perf_counter() - start) / 2)
    return best


if __name__ == "__main__":
    from mpi4py import MPI

    times = [(size, ping_pong(MPI.COMM_WORLD, size, rounds)) for size, rounds in ((1, ROUNDS), (1 << 24, ROUNDS // 20))]
    if MPI.COMM_WORLD.rank == 0:
        print(json.dumps(times))
