"""The best parameters found on this user's devices, one JSON file a device in the user's cache folder.

`clock.tune` writes them; `opencl_kernel(step, parameters="tuned")` and `cuda_kernel` read them. Only that word makes
them count, so no page changes because of what was tuned yesterday. An entry belongs to the source and the driver it was
found with; where either has changed, or the file is damaged, it is ignored, and said so once.
"""

import functools
import hashlib
import json
import re
import warnings

from .. import devices, files, ladder
from .given import sizes, takes, told

LARGEST = 1_000_000  # bytes of a file


def path_of(device):
    """The file of that device, which need not exist."""
    name = re.sub(r"[^A-Za-z0-9]+", "-", f"{device.dialect} {device.name}").strip("-")
    return devices.cache_folder() / f"tuned-{name}.json"


def mark(source, device):
    """What an entry is bound to: the kernel's text and the driver that compiles it."""
    return hashlib.sha256(f"{source}\n{device.driver}".encode()).hexdigest()[:16]


@functools.cache  # each thing is said once
def ignored(path, why):
    """Warn that what is stored there does not count, and why."""
    warnings.warn(
        f"tuned parameters in {path.name} are ignored, the defaults are used: {why}. Tune again to replace them.",
        stacklevel=3,
    )


def read(path) -> dict:
    """{step: entry} as that file has it; empty where there is none.

    Raises OSError where it cannot be read, ValueError where it is damaged.
    """
    try:
        stored = files.plain(files.read_json(path, LARGEST, "tune again"))
        return {step: found | {"parameters": dict(found["parameters"])} for step, found in stored.items()}
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise ValueError("the file is damaged") from None


def entry(step, device, source):
    """What is stored of that step on that device, a dict with its `parameters`; {} where nothing is that still counts.

    Warns of what is there and does not count.
    """
    path = path_of(device)
    try:
        found = read(path).get(step.name)
        if found is None:
            return {}
        if found.get("mark") != mark(source, device):
            raise ValueError(f"those of {step.name} belong to another version of the kernel or of the driver")
        parameters = ladder.parameters(step, device, found["parameters"])
        return found | {"parameters": parameters, "size": list(sizes(found.get("size")))}
    except OSError as error:
        ignored(path, f"the file cannot be read ({error.strerror or error})")
    except ValueError as error:
        ignored(path, str(error).rstrip("."))
    return {}


def chosen(word, step, device, source, given):
    """The parameters `given`, above the tuned ones if `word` is "tuned". Raises ValueError for a word beside it."""
    if word is not None and not (isinstance(word, str) and word == "tuned"):
        raise ValueError(
            f'parameters={told(word)}: the only word here is "tuned". Name single parameters, such as TILE=16, or '
            f"unfold a dict of them with two stars."
        )
    found = entry(step, device, source) if word else {}
    # Where nothing beat the defaults, the word changes nothing: parameters by the shape of each product.
    if found and found["parameters"] == step.fitted(step.defaults_for(device), device, *found["size"]):
        found = {}
    return found.get("parameters", {}) | given


def remember(step, device, source, parameters, size, **about):
    """Store the step's parameters for that device, whole or not at all.

    `size`: the (M, N, K) that they were found for. `about`: what else its entry should say.

    Raises OSError where the cache cannot be written, or the file is there and cannot be read.
    """
    path = path_of(device)
    entry = {"parameters": parameters, "mark": mark(source, device), "size": list(size), **about}
    change(path, lambda stored: stored | {step.name: entry})


def change(path, update):
    """Put update({step: entry}) in the place of what that file has. Two processes that do so at once lose nothing."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with files.locked(path.parent):
            try:
                stored = read(path)
            except ValueError:  # damaged, which was said when it was first read
                stored = {}
            left = update(stored)
            if left:
                files.replace_text(path, json.dumps(left, indent=1))
            else:
                path.unlink(missing_ok=True)
            return len(stored) - len(left)
    except OSError as error:
        if error.strerror is None:
            raise  # it says all that there is to say
        raise OSError(
            f"{path} cannot be changed ({error.strerror}). Make room or give the permission, or name another folder "
            f"in HELPERS_CACHE."
        ) from None


@takes
def forget_tuned(step: str | None = None) -> int:
    """The way back: delete what was tuned on all devices, of all steps or of one. Returns how many entries went.

    A damaged file goes as a whole. Raises OSError where a file cannot be changed.
    """
    if step is not None:
        ladder.step(step)  # an unknown one is an error, not nothing to do
    return sum(
        change(path, lambda stored: {name: e for name, e in stored.items() if step is not None and name != step})
        for path in sorted(devices.cache_folder().glob("tuned-*.json"))
    )
