"""A product on Dask's workers: right, also when a worker dies; and none is left running."""

import contextlib
import os

import numpy as np
import psutil
import pytest

import summa

da = pytest.importorskip("dask.array")
pytest.importorskip("distributed")
EMPTY = np.empty((0, 0), np.float32)
seen = []  # in a worker: (its number, rows, K, columns) of each product


def multiply(A, B):
    seen.append((os.environ["SUMMA_RANK"], *A.shape, B.shape[1]))
    return A @ B


@pytest.fixture(scope="module")
def client():
    with summa.cluster(workers=2, blocks=[(32, 18, 90), (6, 32, 90)], multiply=f"{__name__}:multiply") as client:
        yield client
        workers = [psutil.Process(pid) for pid in client.run(os.getpid).values()]
        assert workers
    _, alive = psutil.wait_procs(workers, timeout=60)
    assert not alive


@pytest.fixture
def operands(tmp_path):
    A, B = (np.random.default_rng().integers(-9, 10, shape).astype(np.float32) for shape in ((70, 90), (90, 50)))
    np.save(tmp_path / "A.npy", A)
    np.save(tmp_path / "B.npy", B)
    return A, B


def product(folder, BK, local, **given):
    dA, dB = summa.from_file(folder / "A.npy", (32, BK)), summa.from_file(folder / "B.npy", (BK, 32))
    return da.blockwise(local, "ij", dA, "ik", dB, "kj", concatenate=True, meta=EMPTY, **given)


def test_right_where_k_is_cut(client, operands, tmp_path):
    C = product(tmp_path, 40, multiply).compute()
    assert C.dtype == np.float32 and (operands[0] @ operands[1] == C).all()


def first_seen():
    return seen[:2], sorted(os.sched_getaffinity(0))


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="macOS and Windows bind no process to a core")
def test_each_worker_has_a_core_and_has_multiplied_blocks_as_its_cluster_was_told_before_a_task_comes(client):
    numbers = {address: str(worker["name"]) for address, worker in client.scheduler_info()["workers"].items()}
    assert len({*numbers.values()}) == 2
    said = client.run(first_seen)
    wanted = {at: [(n, 32, 90, 18), (n, 6, 90, 32)] for at, n in numbers.items()}
    assert {at: done for at, (done, _) in said.items()} == wanted
    cores = [tuple(cores) for _, cores in said.values()]
    assert {len(one) for one in cores} == {1} and len({*cores}) == min(2, len(os.sched_getaffinity(0)))


def test_a_file_is_read_block_by_block(operands, tmp_path):
    dA = summa.from_file(tmp_path / "A.npy", (32, 40))
    assert dA.numblocks == (3, 3) and len(dA.__dask_graph__()) == 9
    assert (dA.compute() == operands[0]).all()


def dies_once(A, B, died):
    with contextlib.suppress(FileExistsError):
        os.close(os.open(died, os.O_CREAT | os.O_EXCL))
        os.kill(os.getpid(), 9)
    return multiply(A, B)


def test_when_a_worker_is_killed_the_product_is_right(client, operands, tmp_path):
    died = str(tmp_path / "died")
    C = product(tmp_path, 90, dies_once, died=died).compute()
    assert os.path.exists(died) and (operands[0] @ operands[1] == C).all()
