"""Arrays of the device lie in this computer's memory: where, and which array owns what lies at an address."""

import weakref

import numpy as np

# {address: the array that owns the memory there}, where an address was asked for
REACHED = weakref.WeakValueDictionary()


def address(array: np.ndarray) -> int:
    """Where an array's first element lies in this computer's memory."""
    return array.__array_interface__["data"][0]


def owner_of(array: np.ndarray) -> np.ndarray:
    """The array that owns the memory which this one shows a part of; itself, if it owns its own."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def bytes_of(owner: np.ndarray) -> np.ndarray:
    """The memory of an array that owns it, in the order of its addresses: uint8."""
    flat = owner if owner.flags.c_contiguous else owner.T
    return flat.reshape(-1).view(np.uint8)


def interface(array: np.ndarray) -> dict:
    """The CUDA array interface, version 3, of an array of the device."""
    owner = owner_of(array)
    REACHED[address(owner)] = owner
    strides = None if array.flags.c_contiguous else array.strides
    place = address(array) if array.size else 0
    return dict(
        shape=array.shape, strides=strides, data=(place, False), typestr=array.dtype.str, stream=None, version=3
    )


def reached(place: int) -> tuple[np.ndarray, int]:
    """(the array that owns the memory at an address, bytes from its start). Raises ValueError where there is none."""
    for start, owner in REACHED.items():
        if start <= place < start + owner.nbytes:
            return owner, place - start
    raise ValueError(f"address {place:#x} is in no array of the device that is still there.")


def array_at(described: dict) -> np.ndarray:
    """The array that a CUDA array interface describes, in the memory of the one that owns it."""
    dtype = np.dtype(described["typestr"])
    if not described["data"][0]:
        return np.empty(described["shape"], dtype)
    owner, start = reached(described["data"][0])
    return np.ndarray(described["shape"], dtype, bytes_of(owner), start, described.get("strides"))
