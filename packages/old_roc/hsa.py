"""The two kernels of Numba's ROC page, line for line but for the import of `roc`, in functions that set the page's sizes.

From Numba's documentation, copyright Anaconda, Inc. and others, BSD 2-Clause licence. They multiply as the page does: the
blocked one takes square matrices of gridsize * blocksize only, and both let x count the rows.
"""

from collections.abc import Callable

from numba import float32

from old_roc import roc


def naive() -> Callable:
    """The page's first kernel: one work-item, one element of C; any sizes."""

    @roc.jit
    def matmul(A, B, C):
        i = roc.get_global_id(0)
        j = roc.get_global_id(1)

        if i >= C.shape[0] or j >= C.shape[1]:
            return

        tmp = 0

        for k in range(A.shape[1]):
            tmp += A[i, k] * B[k, j]

        C[i, j] = tmp

    return matmul


def blocked(blocksize: int = 16, gridsize: int = 16) -> Callable:
    """The page's second kernel: groups of blocksize x blocksize work-items share blocks of A and B."""

    @roc.jit('(float32[:,:], float32[:,:], float32[:,:])')
    def matmulfast(A, B, C):
        x = roc.get_global_id(0)
        y = roc.get_global_id(1)

        tx = roc.get_local_id(0)
        ty = roc.get_local_id(1)

        sA = roc.shared.array(shape=(blocksize, blocksize), dtype=float32)
        sB = roc.shared.array(shape=(blocksize, blocksize), dtype=float32)

        if x >= C.shape[0] or y >= C.shape[1]:
            return

        tmp = 0

        for i in range(gridsize):
            # preload
            sA[tx, ty] = A[x, ty + i * blocksize]
            sB[tx, ty] = B[tx + i * blocksize, y]
            # wait for preload to end
            roc.barrier(1)
            # compute loop
            for j in range(blocksize):
                tmp += sA[tx, j] * sB[j, ty]
            # wait for compute to end
            roc.barrier(1)

        C[x, y] = tmp

    return matmulfast
