"""A product on Dask's workers: right, with the ladder's kernel, also when a worker dies; and none is left running."""

import contextlib
import os
import time

import numpy as np
import psutil
import pytest

from helpers import devices, many, needs
from helpers.judge import wrong_elements
from helpers.launch import draw

pytestmark = pytest.mark.skipif(
    bool(devices.engines()["Dask"]), reason="Dask is not installed: python3 tools/install.py many"
)
EMPTY = np.empty((0, 0), np.float32)


@pytest.fixture(scope="module")
def client():
    with many.cluster(workers=2, blocks=[(32, 18, 90), (6, 32, 90)]) as client:
        yield client
        workers = [psutil.Process(pid) for pid in client.run(os.getpid).values()]
        assert len(workers) == 2
    _, alive = psutil.wait_procs(workers, timeout=60)
    assert not alive


@pytest.fixture
def operands(tmp_path):
    A, B = draw(70, 50, 90)
    np.save(tmp_path / "A.npy", A)
    np.save(tmp_path / "B.npy", B)
    return A, B


def product(folder, BK, local):
    import dask.array as da

    dA, dB = many.from_file(folder / "A.npy", (32, BK)), many.from_file(folder / "B.npy", (BK, 32))
    return da.blockwise(local, "ij", dA, "ik", dB, "kj", concatenate=True, meta=EMPTY)


@pytest.mark.parametrize("BK", [90, 40])
def test_right_whether_k_is_cut_or_not(client, operands, tmp_path, BK):
    C = product(tmp_path, BK, many.block_product).compute()
    assert C.dtype == np.float32 and not wrong_elements(C, *operands).any()


def sizes_it_is_ready_for(dask_worker):
    k = many.on_dask.kernel(str(dask_worker.name))
    return {size for one in k.variants.values() for size in one.multiplied}


def test_each_worker_is_ready_for_the_blocks_that_its_cluster_was_told(client):
    assert all({(32, 18, 90), (6, 32, 90)} <= sizes for sizes in client.run(sizes_it_is_ready_for).values())
    with pytest.raises(ValueError, match="is no size; give a whole number, or three"), many.cluster(2, blocks=["x"]):
        pass


def test_a_file_is_read_block_by_block(client, operands, tmp_path):
    dA = many.from_file(tmp_path / "A.npy", (32, 40))
    assert dA.numblocks == (3, 3) and len(dA.__dask_graph__()) == 9
    assert (dA.compute() == operands[0]).all()


def dies_once(A, B, died):
    with contextlib.suppress(FileExistsError):
        os.close(os.open(died, os.O_CREAT | os.O_EXCL))
        os.kill(os.getpid(), 9)
    return many.block_product(A, B)


def cores_of_a_task(number):
    return sorted(os.sched_getaffinity(0))


def test_when_a_worker_is_killed_the_product_is_right_and_the_next_one_has_a_core_too(client, operands, tmp_path):
    import dask.array as da

    before = set(client.scheduler_info()["workers"])
    dA, dB = many.from_file(tmp_path / "A.npy", (32, 90)), many.from_file(tmp_path / "B.npy", (90, 32))
    died = str(tmp_path / "died")
    C = da.blockwise(dies_once, "ij", dA, "ik", dB, "kj", concatenate=True, meta=EMPTY, died=died).compute()
    assert os.path.exists(died) and not wrong_elements(C, *operands).any()
    if not hasattr(os, "sched_setaffinity"):
        return  # macOS and Windows keep no process to a core
    until, cores = time.monotonic() + 120, []
    while not cores:  # Dask's wait_for_workers breaks when one dies meanwhile
        workers = set(client.scheduler_info()["workers"])
        assert time.monotonic() < until, workers
        if len(workers) == 2 and workers != before:
            tasks = [client.submit(cores_of_a_task, n, workers=[one], pure=False) for n, one in enumerate(workers)]
            with contextlib.suppress(TimeoutError):  # one of them has gone again
                cores = [task.result(timeout=30) for task in tasks]
        time.sleep(0.1)
    assert [len(one) for one in cores] == [1, 1]
    assert len({*map(tuple, cores)}) == min(2, len(os.sched_getaffinity(0)))


def test_mixed_dtypes_end_with_the_kernels_own_error(client, operands, tmp_path):
    import dask.array as da

    dA = many.from_file(tmp_path / "A.npy", (70, 90)).astype(np.float64)
    dB = many.from_file(tmp_path / "B.npy", (90, 50))
    with pytest.raises(TypeError, match="A holds float64; these kernels compute in float32"):
        da.blockwise(many.block_product, "ij", dA, "ik", dB, "kj", concatenate=True, meta=EMPTY).compute()


def test_without_dask_one_line_says_what_adds_it(monkeypatch):
    monkeypatch.setattr(devices, "version", {"dask": "2024.8"}.get)
    with pytest.raises(needs.Missing, match=r"^MPI and Dask are not installed\. "), many.cluster(2):
        pass
