"""Memory of the device lies in this computer's: where, and which array owns what lies at an address."""

import ctypes
import os
import weakref
from types import SimpleNamespace

import numpy as np

ALLOCATED = weakref.WeakValueDictionary()  # {address: memory of the device that begins there, uint8}


def address(array: np.ndarray) -> int:
    """Where an array's first element lies in this computer's memory."""
    return array.__array_interface__["data"][0]


def owner_of(array: np.ndarray) -> np.ndarray:
    """The array that owns the memory which this one shows a part of; itself, if it owns its own."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def bounds(array: np.ndarray) -> tuple[int, int]:
    """(the address of an array's first byte, that after its last)."""
    places = [step * (size - 1) for step, size in zip(array.strides, array.shape, strict=True)] if array.size else []
    low = address(array) + sum(min(place, 0) for place in places)
    high = address(array) + sum(max(place, 0) for place in places) + (array.itemsize if array.size else 0)
    return low, high


def seen_as_bytes(low: int, high: int) -> np.ndarray:
    """What lies between two addresses: uint8. Whoever asks keeps it alive."""
    return np.ndarray(high - low, np.uint8, (ctypes.c_char * (high - low)).from_address(low))


def owner_at(place: int) -> np.ndarray | None:
    """The memory of the device that an address lies in; None for one that is not the device's."""
    if (owner := ALLOCATED.get(place)) is not None:
        return owner
    owners = (kept() for kept in ALLOCATED.valuerefs())  # a list, since another thread may allocate meanwhile
    return next((one for one in owners if one is not None and 0 <= place - address(one) < one.nbytes), None)


def array_at(place: int, shape: tuple[int, ...], dtype: np.dtype, strides: tuple[int, ...] | None = None) -> np.ndarray:
    """The array of that shape at an address, in the memory that owns it: the device's, or somebody else's.

    Raises ValueError for an address that is none of this computer's memory.
    """
    if not place or 0 in shape:
        return np.empty(shape, dtype)
    if (owner := owner_at(place)) is not None:
        return np.ndarray(shape, dtype, owner, place - address(owner), strides)
    if not is_readable(place):
        raise ValueError(f"address {place:#x} is not in this computer's memory: an array on a GPU cannot be used here.")
    described = dict(shape=shape, typestr=dtype.str, data=(place, False), strides=strides, version=3)
    low, high = bounds(np.asarray(SimpleNamespace(__array_interface__=described)))
    return np.ndarray(shape, dtype, seen_as_bytes(low, high), place - low, strides)


def is_readable(place: int) -> bool:
    """Whether a byte of this process's memory lies at an address; True on Windows, where nobody says so."""
    if os.name == "nt":
        return True
    reading, writing = os.pipe()
    with open(reading), open(writing, "w"):
        return ctypes.CDLL(None).write(writing, ctypes.c_void_p(place), ctypes.c_size_t(1)) == 1


def array_of(on_device) -> np.ndarray:
    """The array that an array or a record of the device shows, or an object with `__cuda_array_interface__`."""
    if isinstance(on_device, np.ndarray):  # one of the host's that kernels reach, or a part of it
        return array_at(address(on_device), on_device.shape, on_device.dtype, on_device.strides)
    described = on_device.__cuda_array_interface__
    dtype = np.dtype(getattr(on_device, "dtype", described["typestr"]))
    # Of an array whose rows are one row again and again, Numba's interface says that it has no strides of its own.
    strides = on_device.strides if hasattr(on_device, "__cuda_ndarray__") else described.get("strides")
    return array_at(described["data"][0], described["shape"], dtype, strides)


def overlapping_as_one(arrays: list[np.ndarray]) -> dict[int, np.ndarray]:
    """{id of an array: the same array over memory that it shares with those that overlap it}, of somebody else's.

    An array of the device shows its memory's owner already.
    """
    found, low, high, run = {}, 0, 0, []
    for array in sorted((one for one in arrays if owner_at(address(one)) is None), key=bounds):
        begin, end = bounds(array)
        if begin >= high:
            low, run = begin, []
        high = max(high, end)
        run.append(array)
        whole = seen_as_bytes(low, high)
        found |= {id(one): np.ndarray(one.shape, one.dtype, whole, address(one) - low, one.strides) for one in run}
    return found
