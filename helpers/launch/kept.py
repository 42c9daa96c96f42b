"""The best parameters found on this user's devices, a JSON file for each step and device in the user's cache folder.

`clock.tune` writes them; `opencl_kernel(step, parameters="tuned")` and `cuda_kernel` read them. Only that word makes
them count, so no page changes because of what was tuned yesterday. A file belongs to the source and the driver it was
found with; where either has changed, or the file is damaged, it is ignored, and said so once.
"""

import functools
import hashlib
import json
import re
import warnings

from .. import devices, files, ladder
from ..arguments import sizes, told

LARGEST = 1_000_000  # bytes of a file


def path_of(step, device):
    """The file of that step on that device, which need not exist."""
    name = re.sub(r"[^A-Za-z0-9]+", "-", f"{device.dialect} {device.name}").strip("-")
    return devices.cache_folder() / f"tuned-{name}-{step.name}.json"


def mark(source, device):
    """What a file is bound to: the kernel's text and the driver that compiles it."""
    return hashlib.sha256(f"{source}\n{device.driver}".encode()).hexdigest()[:16]


@functools.cache  # each thing is said once
def ignored(path, why):
    """Warn that what is stored there does not count, and why."""
    warnings.warn(
        f"tuned parameters in {path.name} are ignored, the defaults are used: {why}. Tune again to replace them.",
        stacklevel=3,
    )


def read(path) -> dict:
    """What that file says; {} where there is none. Raises OSError where it cannot be read, ValueError if damaged."""
    try:
        stored = files.plain(files.read_json(path, LARGEST, "tune again"))
        return stored | {"parameters": dict(stored["parameters"])}
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ValueError("the file is damaged") from None


def entry(step, device, source):
    """What is stored of that step on that device; {} where nothing still counts. Warns of what does not."""
    path = path_of(step, device)
    try:
        found = read(path)
        if not found:
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
    """Store the step's parameters for that device, whole or not at all. Raises OSError where that cannot be done.

    `size`: the (M, N, K) that they were found for. `about`: what else the file should say.
    """
    path = path_of(step, device)
    stored = {"parameters": parameters, "mark": mark(source, device), "size": list(size), **about}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.replace_text(path, json.dumps(stored, indent=1))
    except OSError as error:
        if error.strerror is None:
            raise  # it says all that there is to say
        raise OSError(
            f"{path} cannot be written ({error.strerror}). Make room or give the permission, or name another folder "
            f"in HELPERS_CACHE."
        ) from None


def forget_tuned(step: str | None = None) -> int:
    """The way back: delete what was tuned on all devices, of all steps or of one. Returns how many files went."""
    # An unknown step is an error, not nothing to do.
    name = "*" if step is None else ladder.step(step).name
    paths = list(devices.cache_folder().glob(f"tuned-*-{name}.json"))
    for path in paths:
        path.unlink(missing_ok=True)
    return len(paths)
